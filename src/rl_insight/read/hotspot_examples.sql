-- Which were the slowest of a stage?
WITH
-- include worker
found AS (SELECT span.* FROM span /*joined*/ WHERE run = $run /*where*/ ORDER BY dur DESC, ts LIMIT $most)
SELECT
    id, proc, worker, lane, name, coalesce(part, 'span') AS part, task, session, step, ts / 1e6 AS start,
    (ts + dur) / 1e6 AS "end", dur / 1e9 AS s, status, reason, attrs
FROM found LEFT JOIN worker USING (proc)
ORDER BY s DESC, start;
