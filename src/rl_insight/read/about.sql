-- How is run $run ('latest': the one heard from last), and as of when do we look at it, when it is $now?
WITH heard AS (
    SELECT
        coalesce(process.run, 'unknown') AS run, project, experiment, mark.lines, mark.first_ts, mark.last_ts,
        coalesce(process.state, 'running') = 'finished' AS finished,
        aliases ->> 'ray_leads' IS NOT NULL AS leads,
        mark.last_ts + coalesce(clock_offset, 0) + greatest(3 * coalesce(heartbeat, 5), 15) * 1e9 > $now AS recent
    FROM mark LEFT JOIN process USING (proc)
    WHERE mark.lines > 0
),
runs AS (
    SELECT
        run,
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
        sum(lines)::BIGINT AS lines
    FROM heard
    GROUP BY run
)
SELECT *, $now::BIGINT AS now, CASE WHEN state = 'live' THEN greatest($now, last_ts) ELSE last_ts END AS at
FROM runs
WHERE run = $run OR $run = 'latest'
ORDER BY run = $run DESC, last_ts DESC, run
LIMIT 1;
