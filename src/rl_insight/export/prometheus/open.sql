-- What is open in the processes $procs? For states, also which, and when they began together.
SELECT
    proc, part, CASE WHEN part = 'state' THEN coalesce(name, '') END AS state, count(*) AS n, sum(ts) AS began,
    max(step) AS step, arg_max(ts, step) AS step_began
FROM open_span
WHERE part IN ('state', 'session', 'task') AND proc IN (SELECT unnest($procs))
GROUP BY ALL;
