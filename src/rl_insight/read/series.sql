-- How did the metric $name of run $run move, step by step? Several values in a step are averaged.
SELECT step, avg(value) AS value
FROM point
WHERE run = $run AND name = $name AND step IS NOT NULL
GROUP BY step
ORDER BY step;
