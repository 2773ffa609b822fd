-- How many sessions are there?
WITH known AS (
    SELECT session FROM span WHERE run = $run AND part = 'session' /*spans*/
    UNION ALL
    SELECT session FROM open_span WHERE run = $run AND part = 'session' /*spans*/
    UNION ALL
    SELECT value FROM fact_tag
    WHERE run = $run AND name = 'session.sample.finished' AND tag = 'session' /*facts*/
)
SELECT count(DISTINCT session) AS sessions FROM known;
