-- How are the values of metric $name of run $run distributed, over steps or time?
SELECT
    floor((CASE WHEN $by_step THEN step ELSE ts END - $origin) / $width)::INT AS x,
    least(floor((value - $low) / $height)::INT, $rows - 1) AS y,
    count(*) AS n
FROM point
WHERE run = $run AND name = $name AND ts >= $from AND ts < $to AND isfinite(value) AND (NOT $by_step OR step IS NOT NULL)
GROUP BY ALL
ORDER BY x, y;
