-- How did the machines of run $run do in [$from, $to), in $buckets steps?
SELECT
    coalesce(labels ->> 'node', '') AS node,
    labels ->> 'gpu' AS gpu,
    name,
    least(floor((ts - $from) * $per_ns)::INT, $buckets - 1) AS x,
    avg(value) AS value,
    arg_max(value, ts) AS now,
    max(ts) AS ts
FROM point
WHERE run = $run AND (starts_with(name, 'node_') OR starts_with(name, 'gpu_')) AND ts >= $from AND ts <= $to AND isfinite(value)
GROUP BY ALL
ORDER BY node, gpu, name, x;
