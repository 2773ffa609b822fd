-- How many steps is the run to have? What it said last, under the first of the usual names.
SELECT value
FROM point
WHERE run = $run AND name IN ('total_steps', 'max_steps', 'total_training_steps', 'trainer/total_steps') AND value > 0
    AND isfinite(value)
ORDER BY ts DESC
LIMIT 1;
