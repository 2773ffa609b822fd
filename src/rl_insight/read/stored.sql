-- How much of each run has been stored?
SELECT coalesce(process.run, 'unknown') AS run, sum(mark.lines)::BIGINT AS lines, max(mark.last_ts) / 1e6 AS last
FROM mark LEFT JOIN process USING (proc)
GROUP BY ALL;
