-- How are the processes of run $run, when it is $now?
WITH gone AS (
    SELECT proc, sum(count)::BIGINT AS dropped FROM lost WHERE run = $run GROUP BY proc
),
missing AS (
    SELECT proc, sum(to_seq - from_seq + 1)::BIGINT AS missing FROM hole GROUP BY proc
),
running AS (
    SELECT proc, count(*) AS running FROM open_span WHERE run = $run GROUP BY proc
)
SELECT
    process.proc,
    CASE WHEN role IS NULL THEN process.proc ELSE role || coalesce('-' || rank, '') END AS worker,
    role, rank, coalesce(node, host) AS node, host, pid,
    CASE
        WHEN process.state = 'finished' THEN 'finished'
        WHEN greatest(process.last_ts, mark.last_ts) + coalesce(clock_offset, 0)
            + greatest(3 * coalesce(heartbeat, 5), 15) * 1e9 > $now THEN 'live'
        ELSE 'lost'
    END AS state,
    started / 1e6 AS started,
    greatest(process.last_ts, mark.last_ts) / 1e6 AS last,
    heartbeat AS heartbeat_s,
    clock_offset / 1e6 AS clock_offset_ms,
    mark.lines,
    coalesce(dropped, 0) AS dropped,
    coalesce(missing, 0) AS missing,
    coalesce(running, 0) AS running,
    versions, config_hash, labels, attrs
FROM process
JOIN mark USING (proc)
LEFT JOIN gone USING (proc)
LEFT JOIN missing USING (proc)
LEFT JOIN running USING (proc)
WHERE process.run = $run
ORDER BY role, rank, process.proc;
