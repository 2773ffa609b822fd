-- Which kinds of line does the chunk hold, of which processes, from where to where, and how many that are no line?
SELECT
    kind, proc, min(seq), max(seq), count(*), min(ts), max(ts),
    count(*) FILTER (proc IS NULL OR seq IS NULL OR ts IS NULL OR name IS NULL)
FROM incoming
GROUP BY kind, proc;
