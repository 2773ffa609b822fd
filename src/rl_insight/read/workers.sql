-- What are the processes of run $run called, and which have gone silent?
WITH
-- include worker
named AS (FROM worker)
SELECT proc, worker, role, rank, host, pid, heard_ts, lost FROM named ORDER BY worker, proc;
