-- Which lanes has run $run, and whose are they, when it is $now?
-- What has no lane of its own (sessions, tasks, spans between states) is on the lane '' of its process.
WITH
-- include worker
seen AS (
    SELECT
        proc, lane, count(*) AS spans, count(*) FILTER (part = 'state') AS states, 0 AS running,
        min(ts) AS first_ts, max(ts + dur) AS last_ts
    FROM span WHERE run = $run
    GROUP BY proc, lane
    UNION ALL
    SELECT proc, lane, 0, 0, count(*), min(ts), max(ts)
    FROM open_span WHERE run = $run
    GROUP BY proc, lane
)
SELECT
    seen.proc, coalesce(seen.lane, '') AS lane, worker, worker.role, worker.rank, process.node, worker.lost, coalesce(process.state, 'running') AS state,
    coalesce(process.clock_offset, 0) / 1e6 AS clock_offset_ms,
    sum(spans)::BIGINT AS spans, sum(states)::BIGINT AS states, sum(running)::BIGINT AS running,
    min(seen.first_ts) / 1e6 AS first, max(seen.last_ts) / 1e6 AS last
FROM seen JOIN worker USING (proc) JOIN process USING (proc)
GROUP BY ALL
ORDER BY worker.role, worker.rank, seen.proc, lane;
