INSERT INTO span
SELECT
    run, proc, seq, ts, name, dur, id, parent, trace, lane, task, session, step, status, reason, attrs, $segment
FROM line
WHERE kind = 'span';
