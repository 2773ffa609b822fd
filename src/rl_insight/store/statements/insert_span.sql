-- Finished intervals.
INSERT INTO span
SELECT
    run, proc, seq, ts, name, dur, id, parent, trace, lane, task, session, step, status, reason, part, attrs, $segment
FROM line
WHERE kind = 'span';
