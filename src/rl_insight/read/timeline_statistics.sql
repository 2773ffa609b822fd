-- What took the time in [$from, $to) of run $run, by the name of states, or of the other intervals?
WITH told AS (
    SELECT
        name,
        part = 'state' AS state,
        count(*) AS n,
        sum(least(ts + dur, $to) - greatest(ts, $from)) / 1e9 AS s,
        avg(dur) / 1e9 AS mean_s,
        quantile_disc(dur, [0.5, 0.95]) AS quantiles,
        max(dur) / 1e9 AS max_s,
        arg_max(proc, dur) AS longest_proc,
        arg_max(seq, dur) AS longest_seq
    FROM (
        SELECT proc, name, coalesce(part, '') AS part, ts, dur, seq FROM span
        WHERE run = $run AND ts < $to AND ts + dur > $from
        UNION ALL
        SELECT proc, name, coalesce(part, ''), ts, greatest($at - ts, 0), seq FROM open_span
        WHERE run = $run AND ts < $to AND $at > $from
    )
    GROUP BY name, state
)
SELECT
    name, state, n, s, mean_s, quantiles[1] / 1e9 AS p50_s, quantiles[2] / 1e9 AS p95_s, max_s, longest_proc, longest_seq
FROM told
ORDER BY state DESC, s DESC, name
LIMIT 200;
