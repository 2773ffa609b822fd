-- Which tags do the facts of run $run carry?
SELECT tag, count(*) AS n, approx_count_distinct(value) AS values
FROM fact_tag
WHERE run = $run
GROUP BY tag
ORDER BY n DESC, tag;
