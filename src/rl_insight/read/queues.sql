-- How full was each queue between $since and $until, how long did items stay in it, and what fell out?
-- An item is known by the first of these tags that its facts have; put, taken and evicted of one item follow each other.
WITH
-- include item_tag
tagged AS (
    SELECT
        proc, seq, any_value(ts) AS ts, any_value(name) AS name,
        max(value) FILTER (tag = 'queue') AS queue,
        arg_min(tag || '=' || value, rank) FILTER (rank IS NOT NULL) AS item
    FROM fact_tag LEFT JOIN item_tag USING (tag)
    WHERE run = $run AND name LIKE 'queue.%' AND ts < $until
        AND (name LIKE '%.put' OR name LIKE '%.taken' OR name LIKE '%.evicted')
    GROUP BY proc, seq
),
event AS MATERIALIZED (
    SELECT
        coalesce(queue, split_part(name, '.', 2)) AS queue, item, ts, proc, seq,
        split_part(name, '.', 3) AS verb,
        CASE WHEN name LIKE '%.put' THEN 1 ELSE -1 END AS change
    FROM tagged
),
followed AS (
    SELECT
        event.*,
        lead(ts) OVER (PARTITION BY queue, item ORDER BY ts, change) AS left_ts,
        lead(verb) OVER (PARTITION BY queue, item ORDER BY ts, change) AS left_by,
        sum(change) OVER (PARTITION BY queue ORDER BY ts, change DESC ROWS UNBOUNDED PRECEDING) AS depth
    FROM event
),
in_range AS MATERIALIZED (SELECT * FROM followed WHERE ts >= $since),
stay AS (
    SELECT
        queue,
        quantile_cont((left_ts - ts) / 1e9, [0.5, 0.9, 0.99]) FILTER (left_by <> 'put') AS dwell,
        max((left_ts - ts) / 1e9) FILTER (left_by <> 'put') AS dwell_max_s,
        max(($at - ts) / 1e9) FILTER (left_ts IS NULL) AS oldest_s
    FROM in_range
    WHERE verb = 'put'
    GROUP BY queue
),
bucket AS (
    SELECT
        queue, least((ts - $since) * $buckets // greatest($until - $since, 1), $buckets - 1) AS number,
        arg_max(depth, (ts, seq)) AS depth, max(depth) AS highest, max(ts) AS last_ts
    FROM in_range
    GROUP BY ALL
),
depths AS (
    SELECT
        queue,
        list([($since + (number + 1) * ($until - $since) / $buckets) / 1e6, depth, highest] ORDER BY number) AS depths,
        arg_max(depth, number) AS depth,
        max(highest) AS depth_max
    FROM bucket
    GROUP BY queue
),
eviction AS (
    SELECT queue, list({'reason': reason, 'count': count} ORDER BY count DESC, reason) AS evictions
    FROM (
        SELECT queue, fact.reason, count(*) AS count
        FROM in_range JOIN fact USING (proc, seq)
        WHERE in_range.verb = 'evicted' AND fact.run = $run AND fact.name LIKE 'queue.%.evicted'
        GROUP BY queue, fact.reason
    )
    GROUP BY queue
),
counted AS (
    SELECT
        queue, count(*) FILTER (verb = 'put') AS put, count(*) FILTER (verb = 'taken') AS taken,
        count(*) FILTER (verb = 'evicted') AS evicted
    FROM in_range
    GROUP BY queue
)
SELECT
    queue, put, taken, evicted, depth::BIGINT AS depth, depth_max::BIGINT AS depth_max,
    dwell[1] AS dwell_p50_s, dwell[2] AS dwell_p90_s, dwell[3] AS dwell_p99_s, dwell_max_s, oldest_s,
    coalesce(evictions, []) AS evictions, depths
FROM counted
JOIN depths USING (queue)
LEFT JOIN stay USING (queue)
LEFT JOIN eviction USING (queue)
ORDER BY put DESC, queue
LIMIT 50;
