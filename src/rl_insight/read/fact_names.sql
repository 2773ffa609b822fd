-- What do the facts of run $run in [$from, $to] speak of, and when?
SELECT
    name, count(*) AS n, count(*) FILTER (outcome IS NOT NULL AND outcome <> 'ok') AS bad,
    min(ts) / 1e6 AS first, max(ts) / 1e6 AS last
FROM fact
WHERE run = $run AND ts >= $from AND ts <= $to
GROUP BY name
ORDER BY name;
