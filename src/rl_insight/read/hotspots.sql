-- Which stage costs most? The fill 'by' is what else rows are told apart by, 'where' the scope.
WITH
-- include worker
grouped AS (
    SELECT
        span.name, coalesce(part, 'span') AS part, /*by*/ AS "by", count(*) AS count, sum(dur) / 1e9 AS total_s,
        avg(dur) / 1e9 AS avg_s, quantile_cont(dur, [0.5, 0.95, 0.99]) AS quantiles, max(dur) / 1e9 AS max_s,
        count(*) FILTER (status IN ('error', 'timeout')) AS errors, arg_max(span.rowid, dur) AS longest,
        min(ts) AS first_ns, max(ts + dur) AS last_ns
    FROM span /*joined*/
    WHERE run = $run /*where*/
    GROUP BY ALL
)
SELECT
    grouped.* EXCLUDE (quantiles, longest),
    quantiles[1] / 1e9 AS p50_s, quantiles[2] / 1e9 AS p95_s, quantiles[3] / 1e9 AS p99_s,
    {
        'id': span.id, 'proc': span.proc, 'session': span.session, 'task': span.task, 'step': span.step,
        'start': span.ts / 1e6, 'worker': worker.worker
    } AS slowest
FROM grouped JOIN span ON span.rowid = longest LEFT JOIN worker ON worker.proc = span.proc;
