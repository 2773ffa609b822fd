-- Which facts of run $run match, newest first?
WITH
-- include worker
found AS (
    SELECT fact.*, worker, count(*) OVER () AS total
    FROM fact LEFT JOIN worker USING (proc)
    WHERE run = $run AND ts >= $from AND ts <= $to /*conditions*/
)
SELECT
    proc, seq, ts / 1e6 AS at, name, worker, tags, op, "try" AS attempt, peer, outcome, reason, task, session, step, attrs, total
FROM found
ORDER BY ts /*order*/, proc, seq
LIMIT $limit OFFSET $offset;
