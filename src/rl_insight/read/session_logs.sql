-- What was logged inside session $session of run $run?
WITH
-- include worker
found AS (SELECT * FROM log WHERE run = $run AND session = $session)
SELECT found.ts / 1e6 AS at, level, found.name AS message, worker, proc, parent, attrs
FROM found LEFT JOIN worker USING (proc)
ORDER BY found.ts, proc, seq
LIMIT $most;
