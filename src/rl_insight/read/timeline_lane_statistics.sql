-- Which lanes of run $run waited most in [$from, $to)?
WITH
-- include waiting_state
named AS (
    SELECT proc, lane, name, sum(least(ts + dur, $to) - greatest(ts, $from)) AS dur FROM span
    WHERE run = $run AND part = 'state' AND ts < $to AND ts + dur > $from
    GROUP BY proc, lane, name
    UNION ALL
    SELECT proc, lane, name, sum(least($at, $to) - greatest(ts, $from)) FROM open_span
    WHERE run = $run AND part = 'state' AND ts < $to AND $at > $from
    GROUP BY proc, lane, name
),
summed AS (SELECT proc, coalesce(lane, '') AS lane, name, sum(dur) AS dur FROM named GROUP BY ALL),
waits AS (SELECT name FROM (SELECT DISTINCT name FROM summed) SEMI JOIN waiting_state ON name ILIKE pattern)
SELECT
    proc, lane, sum(dur) / 1e9 AS s, coalesce(sum(dur) FILTER (name IN (FROM waits)), 0) / 1e9 AS waiting_s,
    arg_max(name, dur) AS most
FROM summed
GROUP BY proc, lane
ORDER BY waiting_s DESC, proc, lane
LIMIT 1000;
