-- Up to which step has the training come? `complete` is the last one after which another has begun, or that is over.
WITH seen AS (
    SELECT step, false AS open FROM span WHERE run = $run AND part = 'state' AND step IS NOT NULL AND list_contains($trainers, proc)
    UNION ALL
    SELECT step, true FROM open_span WHERE run = $run AND part = 'state' AND step IS NOT NULL AND list_contains($trainers, proc)
),
any_step AS (SELECT max(step) AS step FROM span WHERE run = $run)
SELECT
    min(step) AS first,
    coalesce(max(step), (SELECT step FROM any_step)) AS latest,
    coalesce(max(step) FILTER (NOT open AND step < (SELECT max(step) FROM seen)), max(step), (SELECT step FROM any_step)) AS complete
FROM seen;
