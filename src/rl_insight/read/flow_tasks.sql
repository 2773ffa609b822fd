-- How many tasks were handed in between $since and $until, and how did they end?
WITH submitted AS (
    SELECT count(DISTINCT value) AS tasks
    FROM fact_tag
    WHERE run = $run AND name = 'task.item.put' AND tag = 'task' AND ts >= $since AND ts < $until
),
ended AS (
    SELECT status, count(*) AS tasks
    FROM (
        SELECT arg_max(fact.attrs ->> 'status', fact.ts) AS status
        FROM fact_tag JOIN fact USING (proc, seq)
        WHERE fact_tag.run = $run AND fact_tag.name = 'task.item.finished' AND fact_tag.tag = 'task'
            AND fact_tag.ts >= $since AND fact_tag.ts < $until AND fact.run = $run AND fact.name = 'task.item.finished'
        GROUP BY fact_tag.value
    )
    GROUP BY status
)
SELECT
    -- Who does not say `submit` has no such facts, but spans of tasks.
    greatest(
        (SELECT tasks FROM submitted),
        (SELECT count(*) FROM span WHERE run = $run AND part = 'task' AND ts >= $since AND ts < $until)
            + (SELECT count(*) FROM open_span WHERE run = $run AND part = 'task' AND ts >= $since AND ts < $until)
    ) AS submitted,
    coalesce(sum(tasks) FILTER (status = 'accepted'), 0)::BIGINT AS accepted,
    coalesce(sum(tasks) FILTER (status = 'rejected'), 0)::BIGINT AS rejected,
    coalesce(sum(tasks) FILTER (status = 'dropped'), 0)::BIGINT AS dropped,
    coalesce(sum(tasks) FILTER (status = 'failed'), 0)::BIGINT AS failed,
    coalesce(sum(tasks) FILTER (status = 'cancelled'), 0)::BIGINT AS cancelled,
    (SELECT count(*) FROM open_span WHERE run = $run AND part = 'task') AS open
FROM ended;
