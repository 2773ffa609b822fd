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
-- What each process heard from later, too, had written by then; see `written.sql`.
written AS (
    SELECT unnest($written_procs::VARCHAR[]) AS proc, unnest($written_lines::BIGINT[]) AS lines, unnest($written_ts::BIGINT[]) AS last_ts
),
mark AS (
    SELECT
        mark.proc, mark.seq, coalesce(written.lines, mark.lines) AS lines, mark.first_ts,
        CASE
            WHEN mark.last_ts <= $as_of THEN mark.last_ts
            -- Who is heard from later was alive, so its last heartbeat was no longer ago than heartbeats are apart.
            ELSE greatest(mark.first_ts, written.last_ts, $as_of - (coalesce(process.heartbeat, 5) * 1e9)::BIGINT)
        END AS last_ts
    FROM main.mark AS mark
    LEFT JOIN main.process AS process USING (proc)
    LEFT JOIN written USING (proc)
    WHERE mark.first_ts <= $as_of
),
process AS (
    SELECT process.* REPLACE (
        CASE WHEN process.ts > $as_of THEN 'running' ELSE process.state END AS state, mark.last_ts AS last_ts
    )
    FROM main.process AS process JOIN mark USING (proc)
)
