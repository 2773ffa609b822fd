-- The processes of run $run: what to call them, and whether each has gone silent at $now without a farewell.
worker AS MATERIALIZED (
    SELECT
        proc, role, rank, host, pid,
        CASE WHEN role IS NULL THEN proc ELSE role || coalesce('-' || rank, '') END AS worker,
        greatest(process.last_ts, mark.last_ts) + coalesce(clock_offset, 0) AS heard_ts,
        coalesce(process.state, 'running') <> 'finished'
            AND heard_ts + greatest(3 * coalesce(heartbeat, 5), 15) * 1e9 <= $now AS lost
    FROM process JOIN mark USING (proc)
    WHERE run = $run
)
