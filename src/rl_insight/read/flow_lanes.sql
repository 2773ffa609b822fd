-- On which lane was each process ($procs) at its moment ($moments), doing what belongs to a trace ($traces)?
-- Facts have no lane; what they were recorded in has.
WITH wanted AS (
    SELECT
        unnest($procs::VARCHAR[]) AS proc, unnest($traces::VARCHAR[]) AS trace, unnest($moments::BIGINT[]) AS moment,
        unnest(range(len($procs))) AS nr
),
around AS (
    SELECT nr, span.lane, span.ts FROM span JOIN wanted USING (proc, trace)
    WHERE run = $run AND lane IS NOT NULL AND ts BETWEEN $since AND $until AND ts <= moment AND ts + dur >= moment
    UNION ALL
    SELECT nr, open_span.lane, open_span.ts FROM open_span JOIN wanted USING (proc, trace)
    WHERE run = $run AND lane IS NOT NULL AND ts <= moment
)
SELECT nr, arg_max(lane, ts) AS lane FROM around GROUP BY nr;
