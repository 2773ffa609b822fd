-- Of one in $sample traces all spans, so that parents and children stay together.
pool AS MATERIALIZED (
    SELECT run, id, parent, name, part, proc, lane, step, status, trace, ts, dur /*attributes*/
    FROM span
    WHERE run = $run AND part IS DISTINCT FROM 'state' AND hash(trace) % $sample = 0
),
