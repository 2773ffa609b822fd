-- What is missing, double or unreadable, of run $run or, with NULL, of all?
WITH known AS (
    SELECT mark.proc, process.run FROM mark LEFT JOIN process USING (proc)
    WHERE $run::VARCHAR IS NULL OR process.run = $run
),
stored AS (
    SELECT proc, seq, 'point' AS place FROM point
    UNION ALL SELECT proc, seq, 'span' FROM span
    UNION ALL SELECT proc, seq, 'open_span' FROM open_span
    UNION ALL SELECT proc, seq, 'log' FROM log
    UNION ALL SELECT proc, seq, 'fact' FROM fact
    UNION ALL SELECT proc, seq, 'lost' FROM lost
),
doubled AS (
    SELECT proc, seq, count(*) - 1 AS extra, min(place) AS place FROM stored GROUP BY proc, seq HAVING count(*) > 1
)
SELECT 'hole' AS what, run, proc, to_seq - from_seq + 1 AS lines,
    CASE WHEN from_seq = to_seq THEN 'seq ' || from_seq ELSE 'seq ' || from_seq || ' to ' || to_seq END
        || ' never came' AS detail
FROM hole JOIN known USING (proc)
UNION ALL
SELECT 'duplicate', run, proc, sum(extra)::BIGINT,
    count(*) || ' seq stored more than once, the first is ' || min(seq) || ' in ' || arg_min(place, seq)
FROM doubled JOIN known USING (proc) GROUP BY run, proc
UNION ALL
SELECT 'lost', run, proc, sum(count)::BIGINT, name || ' dropped by its recorder: ' || reason
FROM lost JOIN known USING (run, proc) GROUP BY run, proc, name, reason
UNION ALL
SELECT 'unreadable', NULL, NULL, count(*), source || ', segment ' || segment || ': ' || min(error)
FROM unreadable WHERE $run::VARCHAR IS NULL GROUP BY source, segment
UNION ALL
SELECT 'no process line', NULL, mark.proc, mark.lines, 'the line that says to which run these belong never came'
FROM mark LEFT JOIN process USING (proc) WHERE process.proc IS NULL AND mark.lines > 0 AND $run::VARCHAR IS NULL
ORDER BY run, proc, what, detail;
