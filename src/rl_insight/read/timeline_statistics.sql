-- What took the time in [$from, $to) of run $run, by the name of states, or of the other intervals?
WITH told AS (
    SELECT
        name, part, count(*) AS n, sum(least(ts + dur, $to) - greatest(ts, $from)) AS s,
        sum(dur) AS whole, max(dur) AS longest, arg_max(proc, dur) AS longest_proc, arg_max(seq, dur) AS longest_seq
    FROM span
    WHERE run = $run AND ts < $to AND ts + dur > $from
    GROUP BY ALL
    UNION ALL
    SELECT
        name, part, count(*), sum(least($at, $to) - greatest(ts, $from)), sum(greatest($at - ts, 0)),
        max(greatest($at - ts, 0)), arg_min(proc, ts), arg_min(seq, ts)
    FROM open_span
    WHERE run = $run AND ts < $to AND $at > $from
    GROUP BY ALL
)
SELECT
    name, coalesce(part = 'state', false) AS state, sum(n)::BIGINT AS n, sum(s) / 1e9 AS s, sum(whole) / sum(n) / 1e9 AS mean_s, max(longest) / 1e9 AS max_s,
    arg_max(longest_proc, longest) AS longest_proc, arg_max(longest_seq, longest) AS longest_seq
FROM told
GROUP BY name, state
ORDER BY state DESC, s DESC, name
LIMIT 200;
