-- A condition: on the tags of facts that finish a session of task $task.
AND (proc, seq) IN (
    SELECT (proc, seq) FROM fact_tag
    WHERE run = $run AND name = 'session.sample.finished' AND tag = 'task' AND value = $task
)
