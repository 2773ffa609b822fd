-- What is every lane of run $run doing at $now (ns since the epoch)?
-- States shorter than a flush are never told while they run, so a lane that hurries shows the last one it ended.
WITH state AS (
    SELECT lane, name, ts, true AS running FROM open_span WHERE run = $run AND part = 'state'
    UNION ALL
    SELECT lane, name, ts, false FROM span WHERE run = $run AND part = 'state' AND ts > $now - 60e9
)
SELECT lane, arg_max(name, ts) AS state, max(ts) AS since, arg_max(running, ts) AS running
FROM state
GROUP BY lane
ORDER BY lane;
