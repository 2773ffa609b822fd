-- How many lines of each kind does the chunk hold?
SELECT kind, count(*) FROM incoming GROUP BY kind;
