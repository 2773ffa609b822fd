-- What happened to session $session of run $run, also as other processes tell it? And how did its task end?
WITH
-- include worker
about_it AS (
    SELECT proc, seq FROM fact WHERE run = $run AND session = $session
    UNION
    SELECT proc, seq FROM fact_tag WHERE run = $run AND tag = 'session' AND value = $session
    UNION
    SELECT proc, seq FROM fact_tag
    WHERE run = $run AND tag = 'task' AND value = $task
        AND (name IN ('task.item.put', 'task.item.finished') OR name LIKE 'queue.%' OR name LIKE 'train.%')
)
SELECT
    fact.ts / 1e6 AS at, fact.name, worker, proc, tags, op, peer, outcome, reason, parent, attrs
FROM fact JOIN about_it USING (proc, seq) LEFT JOIN worker USING (proc)
WHERE fact.run = $run
ORDER BY fact.ts, proc, seq
LIMIT $most;
