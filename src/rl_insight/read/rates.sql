-- How much did run $run do per second, in the $seconds before $now (ns since the epoch)?
WITH recent AS (
    SELECT name, value FROM point WHERE run = $run AND kind = 'count' AND ts > $now - $seconds * 1e9 AND ts <= $now
)
SELECT name, sum(value) / $seconds AS per_second
FROM recent
GROUP BY name
ORDER BY name;
