-- Which intervals have ended, how long did they take, and how do they spread over buckets?
-- $procs, $seqs, $after, $segment as in points.sql. Of a run's names those beyond the first $most come together.
-- Sessions and phases are sorted into buckets of their own, too.
WITH wanted AS (SELECT unnest($procs) AS proc, unnest($runs) AS of_run, unnest($seqs) AS known),
grouped AS (
    SELECT
        of_run, span.proc, coalesce(name, '') AS name, coalesce(part, '') AS part, coalesce(status, 'ok') AS status,
        len(list_filter($bounds::DOUBLE[], lambda bound: bound < dur / 1e9)) AS bucket,
        CASE part
            WHEN 'session' THEN len(list_filter($session_bounds::DOUBLE[], lambda bound: bound < dur / 1e9))
            WHEN 'phase' THEN len(list_filter($phase_bounds::DOUBLE[], lambda bound: bound < dur / 1e9))
        END AS own_bucket,
        count(*) AS n, sum(dur) AS dur, min(ts) AS first,
        arg_max({'trace': trace, 'dur': dur, 'ts': ts + dur}, seq) FILTER (trace IS NOT NULL) AS example
    FROM span JOIN wanted USING (proc)
    WHERE span.rowid > $after AND segment >= $segment AND seq > known
    GROUP BY ALL
),
placed AS (
    SELECT *, place > $most AS folded
    FROM (
        SELECT *, dense_rank() OVER (PARTITION BY of_run ORDER BY began, name, part) AS place
        FROM (SELECT *, min(first) OVER (PARTITION BY of_run, name, part) AS began FROM grouped)
    )
)
SELECT
    of_run, proc, CASE WHEN NOT folded THEN name END AS name, part, status, bucket, own_bucket, sum(n)::BIGINT AS n,
    sum(dur) AS dur, any_value(example) AS example, max(place) - $most AS series
FROM placed
GROUP BY ALL
ORDER BY min(began), of_run, name, part, proc, status, bucket;
