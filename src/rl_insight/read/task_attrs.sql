-- What was said of task $task of run $run when it was recorded, for example its prompt?
SELECT attrs
FROM (
    SELECT ts, attrs FROM span WHERE run = $run AND task = $task AND part = 'task' AND attrs IS NOT NULL
    UNION ALL
    SELECT ts, attrs FROM open_span WHERE run = $run AND task = $task AND part = 'task' AND attrs IS NOT NULL
)
ORDER BY ts DESC
LIMIT 1;
