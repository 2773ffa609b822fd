-- How did the reward of each run go, newest 40 steps that told of it?
WITH told AS (
    SELECT
        run, step, avg(value) AS value, list_position($names, name) AS preference,
        min(list_position($names, name)) OVER (PARTITION BY run) AS preferred
    FROM point
    WHERE name IN (SELECT unnest($names)) AND step IS NOT NULL AND isfinite(value)
    GROUP BY run, name, step
),
newest AS (
    SELECT run, step, value, row_number() OVER (PARTITION BY run ORDER BY step DESC) AS back
    FROM told WHERE preference = preferred
)
SELECT run, arg_max(value, step) AS reward, list(value ORDER BY step) AS rewards
FROM newest WHERE back <= 40
GROUP BY run;
