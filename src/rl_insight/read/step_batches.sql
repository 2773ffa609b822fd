-- What was in the batch of each of the steps $from_step to $to_step, and which sessions held it up?
WITH
-- include session_head
chosen AS MATERIALIZED (
    SELECT *, coalesce(trained_step, CASE WHEN NOT told_of_batches THEN step END) AS batch
    FROM session_head, (SELECT coalesce(bool_or(trained_step IS NOT NULL), false) AS told_of_batches FROM session_head)
    WHERE batch BETWEEN $from_step AND $to_step
),
-- include session_times
batch_row AS MATERIALIZED (SELECT * FROM session_row WHERE total_s IS NOT NULL),
by_version AS (
    SELECT batch, list({'weights': weights, 'sessions': sessions, 'staleness': staleness} ORDER BY weights) AS versions
    FROM (
        SELECT batch, weights, count(*) AS sessions, avg(staleness) AS staleness
        FROM batch_row WHERE weights IS NOT NULL GROUP BY batch, weights
    )
    GROUP BY batch
),
by_task AS (
    SELECT batch, count(*) AS tasks, count(*) FILTER (rewarded >= 2 AND highest - lowest < 1e-9) AS zero_spread
    FROM (
        SELECT batch, task, count(reward) AS rewarded, min(reward) AS lowest, max(reward) AS highest
        FROM batch_row WHERE task IS NOT NULL GROUP BY batch, task
    )
    GROUP BY batch
),
by_batch AS (
    SELECT
        batch, count(*) AS sessions, avg(reward) AS reward, stddev_pop(reward) AS reward_std, sum(tokens) AS tokens,
        sum(queue_s) AS queue_s, sum(generate_s) AS generate_s, sum(tool_s) AS tool_s, sum(reward_s) AS reward_s,
        sum(other_s) AS other_s, sum(idle_s) AS idle_s,
        quantile_cont(total_s, 0.5) AS session_p50_s, quantile_cont(total_s, 0.95) AS session_p95_s,
        max(total_s) AS session_max_s,
        (max(coalesce(end_ns, $at)) - min(start_ns)) / 1e9 AS wall_s,
        list(coalesce(end_ns, $at) ORDER BY coalesce(end_ns, $at) DESC) AS ends,
        list(total_s ORDER BY total_s DESC) AS totals,
        arg_max({'session': session, 'worker': worker, 'total_s': total_s}, (total_s, session)) AS slowest,
        avg(staleness) AS staleness, max(staleness) AS staleness_max
    FROM batch_row
    GROUP BY batch
),
by_tail AS (
    SELECT
        batch,
        list({
            'percent': percent,
            'sessions': slow,
            'wall_share': CASE WHEN wall_s > 0 THEN
                CASE WHEN slow < len(ends) THEN (ends[1] - ends[slow + 1]) / 1e9 / wall_s ELSE 1.0 END END,
            'time_share': CASE WHEN list_sum(totals) > 0 THEN list_sum(totals[1:slow]) / list_sum(totals) END
        } ORDER BY percent) AS tail
    FROM (
        SELECT by_batch.*, percent, ceil(len(ends) * percent / 100.0)::BIGINT AS slow
        FROM by_batch, (VALUES (1), (5), (10)) AS share(percent)
    )
    GROUP BY batch
)
SELECT
    by_batch.* EXCLUDE (batch, ends, totals), by_batch.batch AS step, coalesce(tasks, 0) AS tasks,
    coalesce(zero_spread, 0) AS zero_spread, tail, coalesce(versions, []) AS versions
FROM by_batch
JOIN by_tail USING (batch)
LEFT JOIN by_task USING (batch)
LEFT JOIN by_version USING (batch)
ORDER BY step;
