-- Where did the time of each of the steps $from_step to $to_step go, on the lanes of the trainer?
WITH
-- include waiting_state
state AS (
    SELECT step, name, proc, lane, ts, ts + dur AS ended, false AS open
    FROM span
    WHERE run = $run AND part = 'state' AND step BETWEEN $from_step AND $to_step AND list_contains($trainers, proc)
    UNION ALL
    SELECT step, name, proc, lane, ts, greatest(ts, $at), true
    FROM open_span
    WHERE run = $run AND part = 'state' AND step BETWEEN $from_step AND $to_step AND list_contains($trainers, proc)
),
covered AS (
    SELECT
        state.*,
        EXISTS (FROM waiting_state WHERE lower(name) LIKE pattern) AS wait,
        max(ended) OVER (
            PARTITION BY step, proc, lane, name ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before,
        max(ended) OVER (PARTITION BY step, proc, lane ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_any
    FROM state
),
by_step AS (
    SELECT
        step, min(ts) AS start_ns, max(ended) AS end_ns, bool_or(open) AS open, count(DISTINCT (proc, lane)) AS lanes,
        sum(greatest(0, ended - greatest(ts, coalesce(before_any, ts)))) / 1e9 AS covered_s
    FROM covered
    GROUP BY step
),
by_name AS (
    SELECT step, name, any_value(wait) AS wait, sum(greatest(0, ended - greatest(ts, coalesce(before, ts)))) / 1e9 AS s
    FROM covered
    GROUP BY step, name
),
stacked AS (
    SELECT
        step,
        list({'name': name, 's': s / lanes, 'wait': wait} ORDER BY s DESC, name) AS stack,
        coalesce(sum(s / lanes) FILTER (wait), 0) AS wait_s
    FROM by_name JOIN by_step USING (step)
    GROUP BY step
),
told AS (
    -- A step may be tried again: the last word counts.
    SELECT
        coalesce(TRY_CAST(tags ->> 'step' AS BIGINT), step) AS step,
        arg_max({'outcome': outcome, 'reason': reason}, ts) AS word
    FROM fact
    WHERE run = $run AND name = 'train.step.finished'
        AND coalesce(TRY_CAST(tags ->> 'step' AS BIGINT), step) BETWEEN $from_step AND $to_step
    GROUP BY 1
)
SELECT
    step, start_ns / 1e6 AS start, end_ns / 1e6 AS "end", (end_ns - start_ns) / 1e9 AS step_s, lanes, open,
    word.outcome AS outcome, word.reason AS reason, stack, wait_s,
    greatest(0, step_s - covered_s / lanes) AS unaccounted_s,
    CASE WHEN step_s > 0 THEN wait_s / step_s END AS wait_ratio
FROM by_step JOIN stacked USING (step) LEFT JOIN told USING (step)
ORDER BY step;
