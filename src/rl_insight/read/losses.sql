-- What is known to be missing, without looking at every line?
SELECT 'hole' AS what, process.run, hole.proc, sum(to_seq - from_seq + 1)::BIGINT AS lines, count(*) || ' gaps in its numbering' AS detail
FROM hole LEFT JOIN process USING (proc) GROUP BY ALL
UNION ALL
SELECT 'lost', run, proc, sum(count)::BIGINT, name || ': ' || reason FROM lost GROUP BY run, proc, name, reason
UNION ALL
SELECT 'unreadable', NULL, NULL, count(*), source || ', segment ' || segment || ': ' || min(error) FROM unreadable GROUP BY source, segment
ORDER BY lines DESC, what, run, proc, detail
LIMIT 200;
