-- How far did the sessions in scope get, and why no further?
WITH
-- include session_head
counted AS MATERIALIZED (SELECT * FROM session_head),
why AS (
    SELECT status, reason, count(*) AS sessions, CASE WHEN count(DISTINCT worker) = 1 THEN any_value(worker) END AS worker
    FROM counted
    WHERE status NOT IN ('accepted', 'running', 'pending') OR status = 'accepted' AND reason IS NOT NULL
    GROUP BY status, reason
    ORDER BY sessions DESC, status, reason
    LIMIT 100
),
by_weights AS (
    SELECT
        weights, count(*) AS sessions, count(trained_step) AS trained, avg(staleness) AS staleness,
        max(staleness) AS staleness_max, count(DISTINCT worker) AS workers
    FROM counted
    WHERE weights IS NOT NULL
    GROUP BY weights
    ORDER BY weights DESC
    LIMIT 200
),
by_worker AS (
    SELECT proc, any_value(worker) AS worker, count(*) AS sessions, avg(staleness) AS staleness, max(weights) AS weights
    FROM counted WHERE proc IS NOT NULL GROUP BY proc
)
SELECT
    (SELECT {
        'submitted': count(*),
        'started': count(start_ns),
        'generated': count(*) FILTER (NOT open AND error IS NULL AND start_ns IS NOT NULL),
        'accepted': count(*) FILTER (status = 'accepted'),
        'rejected': count(*) FILTER (status = 'rejected'),
        'dropped': count(*) FILTER (status = 'dropped'),
        'failed': count(*) FILTER (status = 'failed'),
        'cancelled': count(*) FILTER (status = 'cancelled'),
        'running': count(*) FILTER (status = 'running'),
        'lost': count(*) FILTER (status = 'lost'),
        'pending': count(*) FILTER (status = 'pending'),
        'trained': count(trained_step)
    } FROM counted) AS funnel,
    (SELECT coalesce(list(why ORDER BY sessions DESC), []) FROM why) AS reasons,
    (SELECT coalesce(list(by_weights ORDER BY weights), []) FROM by_weights) AS versions,
    (SELECT coalesce(list(by_worker ORDER BY worker), []) FROM by_worker) AS workers,
    (SELECT count(*) FROM counted) AS considered;
