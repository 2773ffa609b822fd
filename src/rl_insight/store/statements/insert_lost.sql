-- What recorders had to drop.
INSERT INTO lost
SELECT run, proc, seq, ts, name, count, reason, $segment
FROM line
WHERE kind = 'lost';
