-- In how many lanes of run $run was each state, over [$from, $to)?
-- Every state begins in one bucket and ends in one: from sums over the two, the time in every bucket follows, however
-- long the states are. `at` is what running states have reached.
WITH state AS (
    SELECT name, ts, ts + dur AS until FROM span WHERE run = $run AND part = 'state' AND ts < $to AND ts + dur > $from
    UNION ALL
    SELECT name, ts, $at FROM open_span WHERE run = $run AND part = 'state' AND ts < $to AND $at > $from
),
inside AS (
    SELECT name, greatest(ts - $from, 0) AS begins, least(until, $to) - $from AS ends FROM state
),
edge AS (
    SELECT name, floor(begins * $per_ns)::INT AS bucket, sum(begins) AS moment, count(*) AS n FROM inside GROUP BY ALL
    UNION ALL
    SELECT name, floor(ends * $per_ns)::INT, -sum(ends), -count(*) FROM inside GROUP BY ALL
)
SELECT name, bucket, sum(moment)::DOUBLE AS moment, sum(n)::BIGINT AS n
FROM edge
GROUP BY ALL
ORDER BY name, bucket;
