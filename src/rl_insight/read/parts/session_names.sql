-- What the phases of the sessions in `found` add up to, name by name: union time and sum.
session_name AS (
    SELECT
        session, name, any_value(stage) AS stage, count(*) AS count,
        sum(greatest(0, ended - greatest(ts, coalesce(before_in_name, ts)))) / 1e9 AS s,
        sum(ended - ts) / 1e9 AS sum_s
    FROM session_covered
    WHERE session IN (SELECT session FROM found)
    GROUP BY session, name
),
session_names AS (
    SELECT session, list({'name': name, 'stage': stage, 'count': count, 's': s, 'sum_s': sum_s} ORDER BY s DESC, name) AS phases
    FROM session_name
    GROUP BY session
)
