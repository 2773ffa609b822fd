-- Which processes belong to a run ('unknown': to none that has been named), and how many lines have they written?
SELECT mark.proc, mark.seq, mark.lines
FROM mark LEFT JOIN process USING (proc)
WHERE coalesce(process.run, 'unknown') = $run AND mark.lines > 0;
