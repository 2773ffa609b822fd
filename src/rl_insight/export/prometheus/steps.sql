-- Which are the newest three steps of each process, and when did each begin?
-- $procs, $seqs, $after_point, $after_span and $segment as in points.sql.
WITH wanted AS (SELECT unnest($procs) AS proc, unnest($runs) AS of_run, unnest($seqs) AS known),
seen AS (
    SELECT of_run, point.proc, step, ts
    FROM point JOIN wanted USING (proc)
    WHERE point.rowid > $after_point AND segment >= $segment AND seq > known AND step IS NOT NULL
    UNION ALL
    SELECT of_run, span.proc, step, ts
    FROM span JOIN wanted USING (proc)
    WHERE span.rowid > $after_span AND segment >= $segment AND seq > known AND step IS NOT NULL
)
SELECT of_run, proc, step, min(ts) AS ts
FROM seen
GROUP BY of_run, proc, step
QUALIFY row_number() OVER (PARTITION BY of_run, proc ORDER BY step DESC) <= 3;
