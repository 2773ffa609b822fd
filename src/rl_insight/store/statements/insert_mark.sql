-- Processes never heard of get a mark.
INSERT INTO mark SELECT unnest($procs), unnest($seqs), unnest($lines), unnest($first_ts), unnest($last_ts);
