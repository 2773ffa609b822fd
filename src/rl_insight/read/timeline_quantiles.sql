-- How long were the intervals in [$from, $to) of run $run, of each name? The fill 'which' takes all, some names, or a sample.
SELECT name, state, quantiles[1] / 1e9 AS p50_s, quantiles[2] / 1e9 AS p95_s
FROM (
    SELECT name, state, quantile_disc(dur, [0.5, 0.95]) AS quantiles
    FROM (
        SELECT name, coalesce(part = 'state', false) AS state, dur FROM span
        WHERE run = $run AND ts < $to AND ts + dur > $from /*which*/
        UNION ALL
        SELECT name, coalesce(part = 'state', false), greatest($at - ts, 0) FROM open_span
        WHERE run = $run AND ts < $to AND $at > $from /*which*/
    )
    GROUP BY name, state
);
