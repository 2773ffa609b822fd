-- How many lines of the processes $procs are known to be missing, and why? Without a reason: gaps in the numbering.
SELECT proc, reason, sum(count)::BIGINT AS lines FROM lost WHERE proc IN (SELECT unnest($procs)) GROUP BY ALL
UNION ALL
SELECT proc, NULL, sum(to_seq - from_seq + 1)::BIGINT FROM hole WHERE proc IN (SELECT unnest($procs)) GROUP BY ALL;
