-- The tables with clocks put right: each stands in for the one of its name. The stamps of a process move by the offset of
-- its clock from the collector's, which then is nothing.
process AS NOT MATERIALIZED (
    SELECT process.* REPLACE (
        process.ts + coalesce(process.clock_offset, 0) AS ts, first_ts + coalesce(process.clock_offset, 0) AS first_ts,
        last_ts + coalesce(process.clock_offset, 0) AS last_ts, 0::BIGINT AS clock_offset
    )
    FROM process
),
mark AS NOT MATERIALIZED (
    SELECT mark.* REPLACE (first_ts + coalesce(off, 0) AS first_ts, last_ts + coalesce(off, 0) AS last_ts)
    FROM mark LEFT JOIN clock USING (proc)
),
span AS NOT MATERIALIZED (
    SELECT span.* REPLACE (ts + coalesce(off, 0) AS ts)/*rowid*/ FROM span LEFT JOIN clock USING (proc)
),
open_span AS NOT MATERIALIZED (
    SELECT open_span.* REPLACE (ts + coalesce(off, 0) AS ts) FROM open_span LEFT JOIN clock USING (proc)
),
point AS NOT MATERIALIZED (SELECT point.* REPLACE (ts + coalesce(off, 0) AS ts) FROM point LEFT JOIN clock USING (proc)),
log AS NOT MATERIALIZED (SELECT log.* REPLACE (ts + coalesce(off, 0) AS ts) FROM log LEFT JOIN clock USING (proc)),
fact AS NOT MATERIALIZED (SELECT fact.* REPLACE (ts + coalesce(off, 0) AS ts) FROM fact LEFT JOIN clock USING (proc)),
fact_tag AS NOT MATERIALIZED (
    SELECT fact_tag.* REPLACE (ts + coalesce(off, 0) AS ts) FROM fact_tag LEFT JOIN clock USING (proc)
)
