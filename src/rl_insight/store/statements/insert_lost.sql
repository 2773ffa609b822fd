INSERT INTO lost
SELECT run, proc, seq, ts, name, count, reason, $segment
FROM line
WHERE kind = 'lost';
