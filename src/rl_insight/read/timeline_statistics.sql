-- What took the time in [$from, $to) of run $run, by the name of states, or of the other intervals?
SELECT
    name,
    part = 'state' AS state,
    count(*) AS n,
    sum(least(ts + dur, $to) - greatest(ts, $from)) / 1e9 AS s,
    avg(dur) / 1e9 AS mean_s,
    quantile_cont(dur, 0.5) / 1e9 AS p50_s,
    quantile_cont(dur, 0.95) / 1e9 AS p95_s,
    max(dur) / 1e9 AS max_s,
    arg_max(proc, dur) AS longest_proc,
    arg_max(seq, dur) AS longest_seq
FROM (
    SELECT proc, lane, name, coalesce(part, '') AS part, ts, dur, seq FROM span
    WHERE run = $run AND ts < $to AND ts + dur > $from
    UNION ALL
    SELECT proc, lane, name, coalesce(part, ''), ts, $at - ts, seq FROM open_span
    WHERE run = $run AND ts < $to AND $at > $from
)
GROUP BY name, state
ORDER BY state DESC, s DESC
LIMIT 200;
