-- In which stage are the open sessions?
WITH stage AS (
    SELECT session, arg_max(name, (ts, seq)) AS name, max(ts) AS ts
    FROM open_span WHERE run = $run AND part = 'phase' AND session IS NOT NULL
    GROUP BY session
)
SELECT stage.name AS stage, count(DISTINCT open_span.session) AS sessions, max($at - coalesce(stage.ts, open_span.ts)) / 1e9 AS oldest_s
FROM open_span LEFT JOIN stage USING (session)
WHERE open_span.run = $run AND part = 'session'
GROUP BY stage.name
ORDER BY sessions DESC, stage;
