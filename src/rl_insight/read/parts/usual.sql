-- How long do 95 of 100 finished tasks, sessions and phases take, by name? Of those since $usual_since.
usual AS (
    SELECT part, name, quantile_cont(dur, 0.95) / 1e9 AS usual_s
    FROM span
    WHERE run = $run AND part IN ('task', 'session', 'phase') AND status IS NULL AND ts > $usual_since
    GROUP BY part, name
)
