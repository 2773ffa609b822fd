-- How are the values of metric $name of run $run distributed, over steps or time?
-- With $log by their logarithm; what came since it was seen that all have one may have none.
SELECT
    floor((CASE WHEN $by_step THEN step ELSE ts END - $origin) / $width)::INT AS x,
    least(floor((CASE WHEN $log THEN log10(value) ELSE value END - $low) / $height)::INT, $rows - 1) AS y,
    count(*) AS n
FROM point
WHERE run = $run AND name = $name AND ts >= $from AND ts < $to AND isfinite(value) AND (NOT $by_step OR step IS NOT NULL)
    AND (NOT $log OR value > 0)
GROUP BY ALL
ORDER BY x, y;
