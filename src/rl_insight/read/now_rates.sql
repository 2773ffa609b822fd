-- How fast does the run go, over the $over_s seconds before $at?
WITH ended AS (
    SELECT session, TRY_CAST(attrs ->> 'tokens' AS DOUBLE) AS tokens
    FROM span
    WHERE run = $run AND part = 'session' AND ts > $at - 7200e9 AND ts + dur > $at - $over_s * 1e9 AND ts + dur <= $at
),
stepped AS (
    SELECT count(DISTINCT step) AS steps
    FROM span
    WHERE run = $run AND part = 'state' AND ts > $at - 7200e9 AND ts + dur > $at - $over_s * 1e9 AND step IS NOT NULL AND list_contains($trainers, proc)
)
SELECT
    (SELECT count(DISTINCT session) FROM ended) / $over_s AS sessions_per_s,
    (SELECT sum(tokens) FROM ended) / $over_s AS tokens_per_s,
    steps * 60 / $over_s AS steps_per_min
FROM stepped;
