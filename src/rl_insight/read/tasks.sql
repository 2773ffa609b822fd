-- Which tasks taught something: how did their sessions end, and did their rewards differ?
WITH
-- include session_head
task_id AS MATERIALIZED (
    SELECT DISTINCT task
    FROM (
        SELECT task FROM session_head
        UNION ALL
        SELECT task FROM (
            SELECT task FROM span WHERE run = $run AND part = 'task' /*tasks*/ ORDER BY ts DESC LIMIT $cap
        )
        UNION ALL
        SELECT task FROM open_span WHERE run = $run AND part = 'task' /*tasks*/
    )
    WHERE task IS NOT NULL
),
task_span AS (
    SELECT
        task, min(ts) AS start_ns, CASE WHEN NOT bool_or(open) THEN max(ended) END AS end_ns, bool_or(open) AS open,
        max(step) AS step, min(submitted) AS submitted_ns
    FROM (
        SELECT task, ts, ts + dur AS ended, false AS open, step, TRY_CAST(attrs ->> 'submitted_ns' AS BIGINT) AS submitted
        FROM span WHERE run = $run AND part = 'task' AND task IN (FROM task_id)
        UNION ALL
        SELECT task, ts, NULL, true, step, TRY_CAST(attrs ->> 'submitted_ns' AS BIGINT)
        FROM open_span WHERE run = $run AND part = 'task' AND task IN (FROM task_id)
    )
    GROUP BY task
),
task_fact AS (
    SELECT
        fact_tag.value AS task,
        arg_max({'status': attrs ->> 'status', 'reason': reason}, (fact.ts, proc, seq))
            FILTER (fact.name = 'task.item.finished') AS word,
        min(fact.ts) FILTER (fact.name = 'task.item.put') AS submitted_ns
    FROM fact_tag JOIN fact USING (proc, seq)
    WHERE fact_tag.run = $run AND fact_tag.name IN ('task.item.finished', 'task.item.put') AND fact_tag.tag = 'task'
        AND fact_tag.value IN (FROM task_id) AND fact.run = $run AND fact.name IN ('task.item.finished', 'task.item.put')
    GROUP BY fact_tag.value
),
by_task AS (
    SELECT
        task,
        count(*) AS sessions,
        count(*) FILTER (status = 'accepted') AS accepted,
        count(*) FILTER (status = 'rejected') AS rejected,
        count(*) FILTER (status = 'failed') AS failed,
        count(*) FILTER (status = 'dropped') AS dropped,
        count(*) FILTER (status = 'cancelled') AS cancelled,
        count(*) FILTER (status = 'running') AS running,
        count(*) FILTER (status = 'lost') AS lost,
        count(*) FILTER (status = 'pending') AS pending,
        bool_or(open) AS open,
        min(start_ns) AS start_ns,
        max(end_ns) AS end_ns,
        max(step) AS step,
        max(trained_step) AS trained_step,
        count(reward) AS rewarded,
        avg(reward) AS reward,
        stddev_pop(reward) AS spread,
        min(reward) AS reward_min,
        max(reward) AS reward_max,
        sum(tokens) AS tokens,
        arg_max(reason, said_ns) AS reason
    FROM session_head
    WHERE task IS NOT NULL
    GROUP BY task
),
task_row AS (
    SELECT
        task,
        coalesce(word.status, CASE WHEN coalesce(task_span.open, by_task.open, true) THEN 'running' ELSE 'pending' END) AS status,
        CASE WHEN word.status IS NULL THEN NULL ELSE word.reason END AS reason,
        coalesce(task_span.step, by_task.step) AS step,
        trained_step,
        coalesce(task_span.open, by_task.open, false) AS open,
        coalesce(task_fact.submitted_ns, task_span.submitted_ns) / 1e6 AS submitted,
        coalesce(task_span.start_ns, by_task.start_ns) AS begun_ns,
        coalesce(task_span.end_ns, CASE WHEN task_span.task IS NULL AND NOT by_task.open THEN by_task.end_ns END) AS ended_ns,
        (coalesce(ended_ns, $at) - begun_ns) / 1e9 AS total_s,
        coalesce(sessions, 0) AS sessions, coalesce(accepted, 0) AS accepted, coalesce(rejected, 0) AS rejected,
        coalesce(failed, 0) AS failed, coalesce(dropped, 0) AS dropped, coalesce(cancelled, 0) AS cancelled,
        coalesce(running, 0) AS running, coalesce(lost, 0) AS lost, coalesce(pending, 0) AS pending,
        coalesce(rewarded, 0) AS rewarded, reward, spread, reward_min, reward_max, tokens,
        coalesce(rewarded >= 2 AND reward_max - reward_min < 1e-9, false) AS zero_spread
    FROM task_id
    LEFT JOIN by_task USING (task)
    LEFT JOIN task_span USING (task)
    LEFT JOIN task_fact USING (task)
),
matching AS MATERIALIZED (SELECT * FROM task_row WHERE true /*where*/),
summary AS (
    SELECT
        count(*) AS matching,
        count(*) FILTER (rewarded >= 2) AS with_rewards,
        count(*) FILTER (zero_spread) AS zero_spreads,
        (SELECT count(*) FROM session_head) AS considered
    FROM matching
)
SELECT
    task, status, reason, step, trained_step, open, submitted, begun_ns / 1e6 AS start, ended_ns / 1e6 AS "end", total_s,
    sessions, accepted, rejected, failed, dropped, cancelled, running, lost, pending, reward, spread, reward_min, reward_max,
    rewarded, zero_spread, tokens, summary.*
FROM summary LEFT JOIN (SELECT * FROM matching /*order*/ /*page*/) AS page ON true
/*order*/;
