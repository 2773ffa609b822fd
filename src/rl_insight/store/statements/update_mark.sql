-- The marks of processes heard of before go up.
UPDATE mark
SET seq = greatest(mark.seq, heard.last_seq), lines = mark.lines + heard.lines,
    first_ts = least(mark.first_ts, heard.first_ts), last_ts = greatest(mark.last_ts, heard.last_ts)
FROM heard
WHERE mark.proc = heard.proc;
