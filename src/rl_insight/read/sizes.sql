-- How many rows of each kind are stored, and how many different names?
SELECT 'span' AS kind, count(*) AS rows, count(DISTINCT name) AS names FROM span
UNION ALL SELECT 'open', count(*), count(DISTINCT name) FROM open_span
UNION ALL SELECT 'metric', count(*), count(DISTINCT name) FROM point
UNION ALL SELECT 'fact', count(*), count(DISTINCT name) FROM fact
UNION ALL SELECT 'log', count(*), count(DISTINCT name) FROM log;
