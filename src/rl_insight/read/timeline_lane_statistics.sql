-- Which lanes of run $run waited most in [$from, $to)?
WITH
-- include waiting_state
state AS (
    SELECT proc, lane, name, least(ts + dur, $to) - greatest(ts, $from) AS dur FROM span
    WHERE run = $run AND part = 'state' AND ts < $to AND ts + dur > $from
    UNION ALL
    SELECT proc, lane, name, least($at, $to) - greatest(ts, $from) FROM open_span
    WHERE run = $run AND part = 'state' AND ts < $to AND $at > $from
),
named AS (
    SELECT
        proc, coalesce(lane, '') AS lane, name, sum(dur) AS dur,
        EXISTS (SELECT 1 FROM waiting_state WHERE name ILIKE pattern) AS waiting
    FROM state
    GROUP BY ALL
)
SELECT
    proc, lane, sum(dur) / 1e9 AS s, coalesce(sum(dur) FILTER (waiting), 0) / 1e9 AS waiting_s,
    arg_max(name, dur) AS most
FROM named
GROUP BY proc, lane
ORDER BY waiting_s DESC
LIMIT 1000;
