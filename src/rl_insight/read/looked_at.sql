-- How much is there to verify, of run $run or, with NULL, of all?
SELECT
    count(*) AS processes,
    count(DISTINCT coalesce(process.run, 'unknown')) AS runs,
    coalesce(sum(mark.lines), 0)::BIGINT AS lines
FROM mark LEFT JOIN process USING (proc)
WHERE $run::VARCHAR IS NULL OR process.run = $run;
