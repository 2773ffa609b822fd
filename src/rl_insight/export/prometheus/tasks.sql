-- How did tasks end, how many sessions of each are over, and of how many of them was it said how? By what is new.
-- $procs, $seqs, $after_span, $after_fact and $segment as in points.sql.
WITH wanted AS (SELECT unnest($procs) AS proc, unnest($runs) AS of_run, unnest($seqs) AS known),
over AS (
    SELECT of_run, task, count(DISTINCT session) AS ended, min(ts) AS first
    FROM span JOIN wanted USING (proc)
    WHERE span.rowid > $after_span AND segment >= $segment AND seq > known AND part = 'session' AND task IS NOT NULL
    GROUP BY ALL
),
word AS (
    SELECT
        of_run, coalesce(tags ->> 'task', task) AS of_task,
        count(DISTINCT tags ->> 'session') FILTER (name = 'session.sample.finished') AS said,
        arg_max(attrs ->> 'status', (ts, seq)) FILTER (name = 'task.item.finished') AS status,
        arg_max(fact.proc, (ts, seq)) FILTER (name = 'task.item.finished') AS proc,
        min(ts) AS first
    FROM fact JOIN wanted USING (proc)
    WHERE fact.rowid > $after_fact AND segment >= $segment AND seq > known
        AND name IN ('task.item.finished', 'session.sample.finished')
    GROUP BY ALL
)
SELECT
    coalesce(over.of_run, word.of_run) AS of_run, coalesce(task, of_task) AS task, coalesce(ended, 0) AS ended,
    coalesce(said, 0) AS said, status, proc
FROM over FULL OUTER JOIN word ON over.of_run = word.of_run AND task = of_task
WHERE coalesce(task, of_task) IS NOT NULL
ORDER BY least(coalesce(over.first, word.first), coalesce(word.first, over.first)), task;
