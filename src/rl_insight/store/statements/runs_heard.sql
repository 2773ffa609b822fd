-- Which runs do the processes in the chunk belong to?
SELECT DISTINCT coalesce(process.run, 'unknown') FROM heard LEFT JOIN process USING (proc) LIMIT 2;
