-- Through which names does time flow, from the outermost span inwards?
-- The fill 'pool' is a sample of whole traces, or nothing, and 'from' what to read: that sample or all spans.
WITH RECURSIVE
-- include worker
/*pool*/
scoped AS MATERIALIZED (
    SELECT
        id, parent, coalesce(part, 'span') || ' ' || span.name AS key, dur,
        coalesce(status IN ('error', 'timeout'), false) AS failed, ts, ts + dur AS ended
    FROM /*from*/ /*joined*/
    WHERE run = $run AND part IS DISTINCT FROM 'state' AND id IS NOT NULL /*where*/
),
covered AS (
    SELECT
        scoped.parent, ts, ended,
        max(ended) OVER (PARTITION BY scoped.parent ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM scoped WHERE scoped.parent IS NOT NULL
),
by_parent AS (
    SELECT
        outer_span.id,
        sum(greatest(
            0, least(covered.ended, outer_span.ended) - greatest(covered.ts, coalesce(before, 0), outer_span.ts)
        )) AS cover
    FROM covered JOIN scoped AS outer_span ON covered.parent = outer_span.id
    GROUP BY outer_span.id
),
own AS MATERIALIZED (
    SELECT scoped.id, scoped.parent, key, dur, failed, dur - coalesce(cover, 0) AS self
    FROM scoped LEFT JOIN by_parent USING (id)
),
node AS (
    SELECT id, [key] AS path, dur, self, failed
    FROM own ANTI JOIN scoped AS above ON own.parent = above.id
    UNION ALL
    SELECT own.id, list_append(node.path, own.key), own.dur, own.self, own.failed
    FROM node JOIN own ON own.parent = node.id
    WHERE len(node.path) < 32
)
SELECT path, count(*) AS count, sum(dur) / 1e9 AS total_s, sum(self) / 1e9 AS self_s, count(*) FILTER (failed) AS errors
FROM node
GROUP BY path
ORDER BY total_s DESC, path
LIMIT $most;
