-- Of each process heard from before $as_of and after: how many lines had it written by then, and when the newest?
-- Heartbeats and tellings of open intervals are not kept; the numbers of the lines after them show that they were there.
WITH outlived AS (SELECT proc, lines FROM mark WHERE first_ts <= $as_of AND last_ts > $as_of),
newest AS (
    SELECT proc, max(seq) AS seq, max(ts) AS ts
    FROM (
        -- A span's line is written when it ends.
        SELECT proc, CASE WHEN ts + dur <= $as_of THEN seq END AS seq, ts FROM span WHERE ts <= $as_of
        UNION ALL SELECT proc, NULL, ts FROM open_span WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM point WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM log WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM fact WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM lost WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM process WHERE ts <= $as_of
    )
    WHERE proc IN (SELECT proc FROM outlived)
    GROUP BY proc
),
never_came AS (
    SELECT proc, sum(to_seq - from_seq + 1)::BIGINT AS lines
    FROM hole JOIN newest USING (proc) WHERE to_seq < newest.seq GROUP BY proc
)
SELECT
    proc, least(outlived.lines, coalesce(newest.seq, 1) - coalesce(never_came.lines, 0)) AS lines, newest.ts
FROM outlived LEFT JOIN newest USING (proc) LEFT JOIN never_came USING (proc);
