-- How far did counters move, and what are gauges at, by what is new of each process in $procs? Rows with a seq above its
-- $seqs are new; $after and $segment keep the scan to where they lie. Of a metric's series in a run those beyond the first
-- $most come together, without process and labels.
WITH wanted AS (SELECT unnest($procs) AS proc, unnest($runs) AS of_run, unnest($engines) AS engine, unnest($seqs) AS known),
grouped AS (
    SELECT
        of_run, engine, point.proc, kind, name, coalesce(labels::VARCHAR, '{}') AS labels,
        -- Whole parts, fractions in units of 2^-60, and what is too large for both: sums that no order of rows can change.
        sum(TRY_CAST(trunc(value) AS HUGEINT)) FILTER (abs(value) < 1e27) AS whole,
        sum(TRY_CAST((value - trunc(value)) * 1152921504606846976 AS HUGEINT)) FILTER (abs(value) < 1e27) AS fraction,
        fsum(value) FILTER (abs(value) >= 1e27) AS large,
        arg_max(value, seq) AS latest, arg_max(ts, seq) AS ts, min(ts) AS first
    FROM point JOIN wanted USING (proc)
    WHERE point.rowid > $after AND segment >= $segment AND seq > known
        AND (kind = 'gauge' AND isfinite(value) OR kind = 'count' AND isfinite(value) AND value >= 0)
    GROUP BY ALL
),
placed AS (
    SELECT *, row_number() OVER (PARTITION BY of_run, engine, kind, name ORDER BY first, proc, labels) > $most AS folded
    FROM grouped
)
SELECT
    of_run, engine, CASE WHEN NOT folded THEN proc END AS proc, kind, name, CASE WHEN NOT folded THEN labels END AS labels,
    coalesce(sum(whole), 0) AS whole, coalesce(sum(fraction), 0) AS fraction, coalesce(fsum(large), 0) AS large,
    avg(latest) AS latest, max(ts) AS ts, count(*) AS series,
    min(first) AS first
FROM placed
GROUP BY ALL
ORDER BY first, of_run, name, kind, proc, labels;
