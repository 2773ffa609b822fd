-- Which metrics has run $run, and with which labels?
SELECT
    name, kind, labels, count(*) AS points, count(step) AS stepped, min(step) AS first_step, max(step) AS last_step,
    min(ts) / 1e6 AS first, max(ts) / 1e6 AS last, min(value) AS low, max(value) AS high, arg_max(value, ts) AS now
FROM point
WHERE run = $run
GROUP BY name, kind, labels
ORDER BY name, kind;
