-- Which processes have gone silent, and what did they leave open?
WITH
-- include worker
left_open AS (
    SELECT proc, count(*) FILTER (part = 'session') AS open_sessions FROM open_span WHERE run = $run GROUP BY proc
)
SELECT worker, proc, host, pid, heard_ts / 1e6 AS last, ($now - heard_ts) / 1e9 AS silent_s, coalesce(open_sessions, 0) AS open_sessions
FROM worker LEFT JOIN left_open USING (proc)
WHERE lost
ORDER BY heard_ts DESC, worker
LIMIT 1000;
