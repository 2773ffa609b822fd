-- How much of each stage is its own time, that no child covers?
-- The fill 'pool' is a sample of whole traces, or nothing, and 'from' what to read: that sample or all spans.
WITH
-- include worker
/*pool*/
parent AS MATERIALIZED (
    SELECT id, span.name, coalesce(part, 'span') AS part, /*by*/ AS "by", ts, ts + dur AS ended
    FROM /*from*/ /*joined*/
    WHERE run = $run AND part IS DISTINCT FROM 'state' /*where*/
),
child AS (
    -- Children need not be in scope themselves: what another process or a stage of another name did is no own time either.
    SELECT span.parent, span.ts, span.ts + span.dur AS ended
    FROM /*from*/
    WHERE run = $run AND span.parent IN (SELECT id FROM parent) AND ts >= $first_ns AND ts <= $last_ns
),
covered AS (
    SELECT
        child.parent, ts, ended,
        max(ended) OVER (PARTITION BY child.parent ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM child
),
by_parent AS (
    SELECT
        parent.id,
        sum(greatest(0, least(covered.ended, parent.ended) - greatest(covered.ts, coalesce(before, 0), parent.ts))) AS cover
    FROM covered JOIN parent ON covered.parent = parent.id
    GROUP BY parent.id
)
SELECT name, part, "by", sum(ended - ts) / 1e9 AS total_s, sum(ended - ts - coalesce(cover, 0)) / 1e9 AS self_s
FROM parent LEFT JOIN by_parent USING (id)
GROUP BY ALL;
