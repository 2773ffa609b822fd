-- The marks of processes heard of before go up.
UPDATE mark
SET seq = greatest(mark.seq, heard.seq), lines = mark.lines + heard.lines,
    first_ts = least(mark.first_ts, heard.first_ts), last_ts = greatest(mark.last_ts, heard.last_ts)
FROM (
    SELECT
        unnest($procs) AS proc, unnest($seqs) AS seq, unnest($lines) AS lines, unnest($first_ts) AS first_ts,
        unnest($last_ts) AS last_ts
) AS heard
WHERE mark.proc = heard.proc;
