-- How many lines of each kind does the chunk hold, and how many that miss what every line has?
SELECT kind, count(*), count(*) FILTER (proc IS NULL OR seq IS NULL OR ts IS NULL OR name IS NULL)
FROM incoming
GROUP BY kind;
