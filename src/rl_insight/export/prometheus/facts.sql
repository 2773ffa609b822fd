-- How did sessions end, and what went into queues and out of them?
-- $procs, $seqs, $after and $segment as in points.sql.
WITH wanted AS (SELECT unnest($procs) AS proc, unnest($runs) AS of_run, unnest($seqs) AS known)
SELECT
    of_run, fact.proc,
    CASE WHEN name = 'session.sample.finished' THEN coalesce(attrs ->> 'status', '') END AS status,
    CASE WHEN name LIKE 'queue.%' THEN coalesce(tags ->> 'queue', split_part(name, '.', 2)) END AS queue,
    count(*) AS n,
    sum(CASE WHEN name LIKE '%.put' THEN 1 ELSE -1 END) AS change
FROM fact JOIN wanted USING (proc)
WHERE fact.rowid > $after AND segment >= $segment AND seq > known
    AND (name = 'session.sample.finished'
        OR name LIKE 'queue.%' AND (name LIKE '%.put' OR name LIKE '%.taken' OR name LIKE '%.evicted'))
GROUP BY ALL
ORDER BY min(ts), of_run, proc, status, queue;
