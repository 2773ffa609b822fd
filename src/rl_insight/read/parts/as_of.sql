-- The tables as they were at $as_of: each stands in for the one of its name. What came later is left out, and an
-- interval that ended later is open.
span AS NOT MATERIALIZED (SELECT *, rowid FROM main.span WHERE ts + dur <= $as_of),
open_span AS NOT MATERIALIZED (
    SELECT * FROM main.open_span WHERE ts <= $as_of
    UNION ALL
    SELECT
        run, proc, seq, ts, name, id, parent, trace, lane, task, session, step, part,
        -- Results are known at the end only.
        CASE WHEN attrs IS NOT NULL THEN
            json_merge_patch(attrs, '{"reward": null, "tokens": null, "turns": null, "staleness": null}') END AS attrs,
        segment
    FROM main.span WHERE ts <= $as_of AND ts + dur > $as_of
),
point AS NOT MATERIALIZED (FROM main.point WHERE ts <= $as_of),
log AS NOT MATERIALIZED (FROM main.log WHERE ts <= $as_of),
fact AS NOT MATERIALIZED (FROM main.fact WHERE ts <= $as_of),
fact_tag AS NOT MATERIALIZED (FROM main.fact_tag WHERE ts <= $as_of),
lost AS NOT MATERIALIZED (FROM main.lost WHERE ts <= $as_of),
outlived AS (SELECT proc FROM main.mark WHERE first_ts <= $as_of AND last_ts > $as_of),
-- Of processes heard from later, too: their newest lines by then. Heartbeats are not kept.
written AS (
    SELECT proc, max(seq) AS seq, max(ts) AS last_ts
    FROM (
        SELECT proc, seq, ts FROM main.span WHERE ts + dur <= $as_of
        -- Began by then; the line was written later.
        UNION ALL SELECT proc, NULL, ts FROM main.span WHERE ts <= $as_of AND ts + dur > $as_of
        UNION ALL SELECT proc, NULL, ts FROM main.open_span WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM main.point WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM main.log WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM main.fact WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM main.lost WHERE ts <= $as_of
        UNION ALL SELECT proc, seq, ts FROM main.process WHERE ts <= $as_of
    )
    WHERE proc IN (FROM outlived)
    GROUP BY proc
),
never_came AS (
    SELECT proc, sum(to_seq - from_seq + 1)::BIGINT AS lines
    FROM main.hole JOIN written USING (proc) WHERE to_seq < written.seq GROUP BY proc
),
mark AS (
    SELECT
        mark.proc,
        least(mark.seq, coalesce(written.seq, mark.seq)) AS seq,
        least(mark.lines, coalesce(written.seq - coalesce(never_came.lines, 0), mark.lines)) AS lines,
        mark.first_ts,
        CASE
            WHEN mark.last_ts <= $as_of THEN mark.last_ts
            -- Who is heard from later was alive, so its last heartbeat was no longer ago than heartbeats are apart.
            ELSE greatest(mark.first_ts, written.last_ts, $as_of - (coalesce(process.heartbeat, 5) * 1e9)::BIGINT)
        END AS last_ts
    FROM main.mark AS mark
    LEFT JOIN main.process AS process USING (proc)
    LEFT JOIN written USING (proc)
    LEFT JOIN never_came USING (proc)
    WHERE mark.first_ts <= $as_of
),
process AS (
    SELECT process.* REPLACE (
        CASE WHEN process.ts > $as_of THEN 'running' ELSE process.state END AS state, mark.last_ts AS last_ts
    )
    FROM main.process AS process JOIN mark USING (proc)
)
