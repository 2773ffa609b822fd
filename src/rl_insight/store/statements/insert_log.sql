-- Log records.
INSERT INTO log
SELECT run, proc, seq, ts, name, level, logger, trace, parent, task, session, step, attrs, $segment
FROM line
WHERE kind = 'log';
