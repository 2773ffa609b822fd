-- Which tasks are open, how far is each, and is that usual? Suspects first, then the oldest.
WITH
-- include worker
-- include usual
open_task AS (
    SELECT
        task, proc, worker.worker, coalesce(worker.lost, false) AS lost, step, ($at - open_span.ts) / 1e9 AS age_s
    FROM open_span LEFT JOIN worker USING (proc)
    WHERE open_span.run = $run AND part = 'task' AND task IS NOT NULL
),
within AS (
    SELECT
        task, count(DISTINCT session) FILTER (part = 'session') AS open_sessions,
        arg_max(name, ts) FILTER (part IN ('phase', 'session')) AS stage
    FROM open_span WHERE run = $run AND task IN (SELECT task FROM open_task)
    GROUP BY task
),
ended AS (
    SELECT task, count(DISTINCT session) AS sessions
    FROM span WHERE run = $run AND part = 'session' AND task IN (SELECT task FROM open_task)
    GROUP BY task
),
judged AS (
    SELECT
        open_task.*, within.stage, coalesce(open_sessions, 0) AS open_sessions,
        coalesce(ended.sessions, 0) + coalesce(open_sessions, 0) AS sessions,
        usual_s, age_s / nullif(usual_s, 0) AS times_usual,
        coalesce(age_s > greatest(2 * usual_s, usual_s + 2), false) AS slow
    FROM open_task
    LEFT JOIN within USING (task)
    LEFT JOIN ended USING (task)
    LEFT JOIN usual ON usual.part = 'task' AND usual.name = 'task'
)
SELECT
    * EXCLUDE (slow),
    lost OR slow AS suspect,
    CASE
        WHEN lost THEN 'its process is gone'
        WHEN slow THEN printf('open for %.1f s; 95 %% take less than %.2g s', age_s, usual_s)
    END AS why,
    count(*) OVER () AS total
FROM judged
ORDER BY suspect DESC, lost DESC, age_s DESC, task
LIMIT $most;
