-- Which runs are there, and is each still going on at $now (ns since the epoch)?
-- A run is live while one of its processes is heard from, finished when all of them said so, and lost otherwise.
-- Ray ends a job's workers without a word: there, the word of the process that led the run is enough.
WITH heard AS (
    SELECT
        coalesce(process.run, 'unknown') AS run,
        project,
        experiment,
        mark.lines,
        coalesce(least(process.first_ts, mark.first_ts), mark.first_ts) AS first_ts,
        coalesce(greatest(process.last_ts, mark.last_ts), mark.last_ts) AS last_ts,
        coalesce(state, 'running') = 'finished' AS finished,
        aliases ->> 'ray_leads' IS NOT NULL AS leads,
        -- Three missed heartbeats, by the process's clock put right, make a process lost.
        coalesce(greatest(process.last_ts, mark.last_ts), mark.last_ts) + coalesce(clock_offset, 0)
            + greatest(3 * coalesce(heartbeat, 5), 15) * 1e9 > $now AS recent
    FROM mark LEFT JOIN process USING (proc)
),
steps AS (
    SELECT run, max(step) AS step
    FROM (SELECT run, max(step) AS step FROM point GROUP BY run UNION ALL SELECT run, max(step) FROM span GROUP BY run)
    GROUP BY run
)
SELECT
    heard.run,
    max(project) AS project,
    max(experiment) AS experiment,
    CASE
        WHEN bool_or(recent AND NOT finished) THEN 'live'
        WHEN bool_and(finished) OR bool_or(finished AND leads) THEN 'finished'
        ELSE 'lost'
    END AS state,
    min(first_ts) AS first_ts,
    max(last_ts) AS last_ts,
    count(*) AS processes,
    count(*) FILTER (recent AND NOT finished) AS live_processes,
    count(*) FILTER (NOT recent AND NOT finished) AS lost_processes,
    sum(lines)::BIGINT AS lines,
    max(steps.step) AS step
FROM heard LEFT JOIN steps USING (run)
GROUP BY heard.run
HAVING sum(lines) > 0
ORDER BY last_ts DESC, heard.run;
