-- What kind is metric $name of run $run, and over which steps and times does it go, in [$from, $to)?
SELECT
    mode(kind) AS kind, count(*) AS points, min(step) AS first_step, max(step) AS last_step, min(ts) AS first_ts,
    max(ts) AS last_ts, min(value) FILTER (isfinite(value)) AS low, max(value) FILTER (isfinite(value)) AS high
FROM point
WHERE run = $run AND name = $name AND ts >= $from AND ts < $to;
