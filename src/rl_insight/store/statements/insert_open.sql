-- Of an interval told of several times, the last.
INSERT INTO open_span
SELECT run, proc, seq, ts, name, id, parent, trace, lane, task, session, step, part, attrs, $segment
FROM line
WHERE kind = 'open'
QUALIFY row_number() OVER (PARTITION BY proc, id ORDER BY seq DESC) = 1;
