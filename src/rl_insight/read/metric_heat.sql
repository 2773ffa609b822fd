-- How are the values of metric $name of run $run distributed, over steps or time? With $log all of them are above zero.
SELECT
    floor((CASE WHEN $by_step THEN step ELSE ts END - $origin) / $width)::INT AS x,
    least(floor((CASE WHEN $log THEN log10(value) ELSE value END - $low) / $height)::INT, $rows - 1) AS y,
    count(*) AS n
FROM point
WHERE run = $run AND name = $name AND ts >= $from AND ts < $to AND isfinite(value) AND (NOT $by_step OR step IS NOT NULL)
GROUP BY ALL
ORDER BY x, y;
