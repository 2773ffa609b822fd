-- Which stretches of seq are missing?
INSERT INTO hole
SELECT proc, before + 1, seq - 1, $segment
FROM (
    SELECT
        incoming.proc, incoming.seq,
        coalesce(lag(incoming.seq) OVER (PARTITION BY incoming.proc ORDER BY incoming.seq), mark.seq, 0) AS before
    FROM incoming LEFT JOIN mark USING (proc)
)
WHERE seq > before + 1;
