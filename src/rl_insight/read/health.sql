-- How are the recorders, at $now (ns since the epoch)?
WITH heard AS (
    SELECT
        process.*,
        greatest(process.last_ts, mark.last_ts) + coalesce(clock_offset, 0) AS heard_ts,
        greatest(3 * coalesce(heartbeat, 5), 15) * 1e9 AS patience
    FROM process JOIN mark USING (proc)
)
SELECT
    count(*) AS processes,
    count(*) FILTER (state = 'finished') AS finished,
    count(*) FILTER (state <> 'finished' AND heard_ts + patience > $now) AS live,
    count(*) FILTER (state <> 'finished' AND heard_ts + patience <= $now) AS lost,
    max(heard_ts) AS last_ts,
    max(abs(clock_offset)) AS clock_offset,
    arg_max(coalesce(host, node, proc), abs(clock_offset)) AS clock_host,
    coalesce(list(DISTINCT schema ORDER BY schema), []) AS schemas,
    coalesce(list(DISTINCT versions ->> 'rl_insight' ORDER BY versions ->> 'rl_insight'), []) AS versions
FROM heard;
