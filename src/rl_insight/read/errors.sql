-- What went wrong lately? Error logs and operations that failed, alike ones counted together.
WITH
-- include worker
found AS (
    SELECT 'log' AS what, name AS text, proc, ts
    FROM log WHERE run = $run AND lower(level) IN ('error', 'critical', 'fatal')
    UNION ALL
    SELECT 'fact', name || ': ' || coalesce(reason, outcome), proc, ts
    FROM fact WHERE run = $run AND outcome IN ('error', 'timeout')
)
SELECT what, max(ts) / 1e6 AS at, text, arg_max(worker, ts) AS worker, count(*) AS count
FROM found LEFT JOIN worker USING (proc)
GROUP BY what, text
ORDER BY max(ts) DESC, what, text
LIMIT 50;
