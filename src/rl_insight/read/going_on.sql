-- Which runs go on when it is $now, the newest first? The collector's own processes keep no run alive.
SELECT process.run, max(project) AS project, max(experiment) AS experiment
FROM process JOIN mark USING (proc)
WHERE NOT (role IS NOT DISTINCT FROM 'engine' AND name = 'scraper') AND mark.lines > 0 AND process.state <> 'finished'
    AND greatest(process.last_ts, mark.last_ts) + coalesce(clock_offset, 0)
        + greatest(3 * coalesce(heartbeat, 5), 15) * 1e9 > $now
GROUP BY process.run
ORDER BY min(process.first_ts) DESC, process.run DESC;
