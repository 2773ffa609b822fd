-- Which lines of run $run are known to be missing, and whose?
WITH
-- include worker
gone AS (
    SELECT 'dropped' AS what, proc, sum(count)::BIGINT AS lines, arg_max(reason, count) AS reason
    FROM lost WHERE run = $run
    GROUP BY proc
    UNION ALL
    SELECT 'hole', proc, sum(to_seq - from_seq + 1)::BIGINT, NULL
    FROM hole SEMI JOIN worker USING (proc)
    GROUP BY proc
)
SELECT what, coalesce(worker, proc) AS worker, proc, lines, reason
FROM gone LEFT JOIN worker USING (proc)
ORDER BY lines DESC, worker, what
LIMIT 50;
