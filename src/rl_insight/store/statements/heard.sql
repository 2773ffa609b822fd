-- Which processes does the chunk hold lines of, and which?
CREATE OR REPLACE TEMP TABLE heard AS
SELECT proc, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS lines, min(ts) AS first_ts, max(ts) AS last_ts
FROM incoming
GROUP BY proc;
