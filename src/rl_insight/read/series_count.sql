-- Which metrics have the most series (different sets of labels)?
SELECT run, name, approx_count_distinct(coalesce(labels::VARCHAR, '')) AS series
FROM point
GROUP BY run, name
ORDER BY series DESC, run, name
LIMIT 20;
