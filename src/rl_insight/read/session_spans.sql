-- What was done for session $session of run $run, by every process?
WITH
-- include worker
found AS (
    SELECT id, parent, part, name, proc, lane, ts, ts + dur AS ended, false AS open, status, reason, attrs
    FROM span WHERE run = $run AND session = $session
    UNION ALL
    SELECT id, parent, part, name, proc, lane, ts, NULL, true, NULL, NULL, attrs
    FROM open_span WHERE run = $run AND session = $session
)
SELECT
    id, parent, coalesce(part, 'span') AS kind, name, worker, proc, lane, ts / 1e6 AS start, ended / 1e6 AS "end",
    (coalesce(ended, greatest(ts, $at)) - ts) / 1e9 AS s, open, status, reason, attrs
FROM found LEFT JOIN worker USING (proc)
ORDER BY ts, coalesce(ended, 9223372036854775807) DESC, id
LIMIT $most;
