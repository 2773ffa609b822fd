-- How does metric $name of run $run move over steps or time, for each value of label $label (NULL: all together)?
-- `x` is the number of the step or time bucket; what is not a number is counted, not averaged.
SELECT
    CASE WHEN $label::VARCHAR IS NULL THEN NULL ELSE coalesce(labels ->> ('$."' || $label || '"'), '') END AS label,
    floor((CASE WHEN $by_step THEN step ELSE ts END - $origin) / $width)::INT AS x,
    count(*) AS n,
    sum(value) FILTER (isfinite(value)) AS total,
    avg(value) FILTER (isfinite(value)) AS mean,
    min(value) FILTER (isfinite(value)) AS low,
    max(value) FILTER (isfinite(value)) AS high,
    arg_max(value, ts) FILTER (isfinite(value)) AS last,
    quantile_cont(value, [0.1, 0.5, 0.9]) FILTER (isfinite(value)) AS quantiles,
    count(*) FILTER (NOT isfinite(value)) AS unusable
FROM point
WHERE run = $run AND name = $name AND ts >= $from AND ts < $to AND (NOT $by_step OR step IS NOT NULL)
GROUP BY ALL
ORDER BY label, x
LIMIT 100000;
