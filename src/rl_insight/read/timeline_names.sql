-- What are the intervals of run $run called?
SELECT coalesce(list(DISTINCT name ORDER BY name), []) AS names
FROM (SELECT name FROM span WHERE run = $run UNION ALL SELECT name FROM open_span WHERE run = $run);
