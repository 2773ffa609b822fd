-- What is every lane doing? A state shorter than a flush is never told of while it lasts, so a lane in a hurry shows its last one.
WITH
-- include worker
-- include waiting_state
state AS (
    SELECT proc, lane, name, ts, NULL AS ended FROM open_span WHERE run = $run AND part = 'state'
    UNION ALL
    SELECT proc, lane, name, ts, ts + dur FROM span WHERE run = $run AND part = 'state' AND ts > $at - 60e9
),
newest AS (
    SELECT proc, lane, arg_max({'name': name, 'ts': ts, 'ended': ended}, (ended IS NULL, ts)) AS now
    FROM state
    GROUP BY proc, lane
)
SELECT
    worker, proc, lane, now.name AS state, now.ts / 1e6 AS since, (coalesce(now.ended, $at) - now.ts) / 1e9 AS s,
    now.ended IS NULL AS open, EXISTS (FROM waiting_state WHERE lower(now.name) LIKE pattern) AS wait,
    coalesce(lost, false) AS lost
FROM newest LEFT JOIN worker USING (proc)
ORDER BY worker, lane
LIMIT 2000;
