-- Which processes of the collector's own were silent at $now without having said that they are over?
SELECT
    process.run, proc, mark.seq, greatest(process.last_ts, mark.last_ts) AS last_ts, project, experiment, node, host, pid,
    started
FROM process JOIN mark USING (proc)
WHERE role = 'engine' AND name = 'scraper' AND process.state <> 'finished' AND mark.lines > 0
    AND greatest(process.last_ts, mark.last_ts) + greatest(3 * coalesce(heartbeat, 5), 15) * 1e9 < $now;
