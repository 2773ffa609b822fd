-- How do new observations spread over the buckets of their metric? `bucket` is how many bounds they are above.
-- $procs, $seqs, $after, $segment and $most, and the sums, as in points.sql; metrics in $names have bounds of their own.
WITH wanted AS (SELECT unnest($procs) AS proc, unnest($runs) AS of_run, unnest($engines) AS engine, unnest($seqs) AS known),
bounded AS (SELECT unnest($names::VARCHAR[]) AS name, unnest($bounds::DOUBLE[][]) AS bounds),
grouped AS (
    SELECT
        of_run, engine, point.proc, point.name, coalesce(labels::VARCHAR, '{}') AS labels,
        len(list_filter(coalesce(bounds, $otherwise), lambda bound: bound < value)) AS bucket,
        count(*) AS n,
        sum(TRY_CAST(trunc(value) AS HUGEINT)) FILTER (abs(value) < 1e27) AS whole,
        sum(TRY_CAST((value - trunc(value)) * 1152921504606846976 AS HUGEINT)) FILTER (abs(value) < 1e27) AS fraction,
        fsum(value) FILTER (abs(value) >= 1e27) AS large,
        min(ts) AS first
    FROM point JOIN wanted USING (proc) LEFT JOIN bounded USING (name)
    WHERE point.rowid > $after AND segment >= $segment AND seq > known AND kind = 'sample' AND isfinite(value)
    GROUP BY ALL
),
placed AS (
    SELECT *, place > $most AS folded
    FROM (
        SELECT *, dense_rank() OVER (PARTITION BY of_run, engine, name ORDER BY began, proc, labels) AS place
        FROM (SELECT *, min(first) OVER (PARTITION BY of_run, proc, name, labels) AS began FROM grouped)
    )
)
SELECT
    of_run, engine, CASE WHEN NOT folded THEN proc END AS proc, name, CASE WHEN NOT folded THEN labels END AS labels, bucket,
    sum(n)::BIGINT AS n, coalesce(sum(whole), 0) AS whole, coalesce(sum(fraction), 0) AS fraction,
    coalesce(fsum(large), 0) AS large, max(place) - $most AS series, min(began) AS began
FROM placed
GROUP BY ALL
ORDER BY began, of_run, name, proc, labels, bucket;
