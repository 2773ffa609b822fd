-- Is a seq missing between what was seen before and the last line of the chunk?
SELECT count(*) > 0
FROM heard LEFT JOIN mark USING (proc)
WHERE heard.first_seq > coalesce(mark.seq, 0) + 1 OR heard.lines <> heard.last_seq - heard.first_seq + 1;
