-- Which runs are recorded at $now (ns since the epoch), by processes whose names do not begin with $prefix?
SELECT run, max(project) AS project, max(experiment) AS experiment
FROM process
WHERE
    state <> 'finished' AND NOT starts_with(proc, $prefix) AND coalesce(role, '') <> 'engine'
    AND last_ts + coalesce(clock_offset, 0) + greatest(3 * coalesce(heartbeat, 5), 15) * 1e9 > $now
GROUP BY run;
