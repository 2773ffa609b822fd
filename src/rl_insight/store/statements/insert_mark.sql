-- Processes never heard of get a mark.
INSERT INTO mark
SELECT proc, last_seq, lines, first_ts, last_ts FROM heard WHERE proc NOT IN (SELECT proc FROM mark);
