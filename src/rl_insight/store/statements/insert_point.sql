-- Counts, gauges and samples.
INSERT INTO point
SELECT run, kind, proc, seq, ts, name, value, labels, step, task, session, $segment
FROM line
WHERE kind IN ('gauge', 'count', 'sample');
