-- Which runs does /metrics show when it is $now, and who records in them? Runs that someone is heard from, and those that
-- were heard from since $since.
WITH heard AS (
    SELECT
        process.run, process.proc, project, experiment, role, rank, coalesce(node, host, '') AS node, pid,
        coalesce(started, process.first_ts, mark.first_ts) AS started,
        greatest(process.last_ts, mark.last_ts) AS last_ts,
        coalesce(clock_offset, 0)::HUGEINT AS clock_offset,
        clock_offset IS NOT NULL AS clock_known,
        coalesce(process.state, 'running') = 'finished' AS finished,
        greatest(3 * coalesce(heartbeat, 5), 15) * 1e9 AS patience,
        -- What the collector reads from engines, see collect/engine.py.
        coalesce(role = 'engine' AND process.name = 'scraper', false) AS engine,
        mark.seq, mark.lines, mark.rowid AS born, mark.first_ts
    FROM process JOIN mark USING (proc)
    WHERE mark.lines > 0
),
shown AS (
    SELECT run
    FROM heard
    GROUP BY run
    HAVING max(last_ts + clock_offset) > $since OR bool_or(NOT finished AND last_ts + clock_offset + patience > $now)
)
SELECT
    run, proc,
    -- A worker that was told less belongs to the same project all the same.
    coalesce(project, max(project) OVER (PARTITION BY run)) AS project,
    coalesce(experiment, max(experiment) OVER (PARTITION BY run)) AS experiment,
    role, rank, node, pid, started, last_ts, clock_offset, clock_known, finished,
    NOT finished AND last_ts + clock_offset + patience > $now AS live, engine, seq, lines, born, first_ts
FROM heard
WHERE run IN (FROM shown)
ORDER BY started + clock_offset, proc;
