-- Which sessions of run $run are under way, the oldest first, and in which phase is each?
WITH phase AS (
    SELECT session, arg_max(name, ts) AS name, arg_max(attrs, ts) AS attrs, max(ts) AS ts
    FROM open_span
    WHERE run = $run AND part = 'phase'
    GROUP BY session
)
SELECT
    open_span.session,
    open_span.task,
    open_span.ts AS since,
    phase.name AS phase,
    phase.ts AS phase_since,
    phase.attrs ->> 'tool' AS tool,
    process.role,
    process.rank
FROM open_span
LEFT JOIN phase USING (session)
LEFT JOIN process ON process.proc = open_span.proc
WHERE open_span.run = $run AND open_span.part = 'session'
ORDER BY open_span.ts;
