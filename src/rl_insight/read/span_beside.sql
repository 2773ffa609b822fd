-- Which interval comes after (or, with $forward false, before) one on its lane, of the same part?
WITH here AS (
    SELECT ts, seq, coalesce(part, '') AS part, coalesce(lane, '') AS lane FROM span
    WHERE run = $run AND proc = $proc AND seq = $seq
    UNION ALL
    SELECT ts, seq, coalesce(part, ''), coalesce(lane, '') FROM open_span WHERE run = $run AND proc = $proc AND seq = $seq
),
there AS (
    SELECT ts, dur, seq, coalesce(part, '') AS part, coalesce(lane, '') AS lane FROM span WHERE run = $run AND proc = $proc
    UNION ALL
    SELECT ts, $at - ts, seq, coalesce(part, ''), coalesce(lane, '') FROM open_span WHERE run = $run AND proc = $proc
)
SELECT there.seq, there.ts / 1e6 AS "from", (there.ts + there.dur) / 1e6 AS "to"
FROM there JOIN here USING (part, lane)
WHERE CASE WHEN $forward THEN (there.ts, there.seq) > (here.ts, here.seq) ELSE (there.ts, there.seq) < (here.ts, here.seq) END
ORDER BY CASE WHEN $forward THEN there.ts ELSE -there.ts END, CASE WHEN $forward THEN there.seq ELSE -there.seq END
LIMIT 1;
