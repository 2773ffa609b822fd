-- How many observations of histogram $name of run $run fell into each bucket, over time, for each value of label $label
-- (NULL: all together)? Buckets are those of Prometheus: `le` is the upper bound, and each holds the ones below it, too.
SELECT
    CASE WHEN $label::VARCHAR IS NULL THEN NULL ELSE coalesce(labels ->> ('$."' || $label || '"'), '') END AS label,
    floor((ts - $origin) / $width)::INT AS x,
    labels ->> 'le' AS le,
    sum(value) AS n
FROM point
WHERE run = $run AND name = $name AND kind = 'count' AND ts >= $from AND ts < $to
GROUP BY ALL
ORDER BY label, x
LIMIT 200000;
