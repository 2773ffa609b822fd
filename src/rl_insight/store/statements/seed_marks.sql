-- Marks of processes whose lines are in the log no longer.
INSERT INTO mark SELECT unnest($procs), unnest($seqs), 0, NULL, NULL;
