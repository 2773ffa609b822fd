-- Sessions recorded with the steps $from_step to $to_step, and those that went, themselves or by their task, into one.
SELECT session, ts FROM span WHERE run = $run AND part = 'session' AND step BETWEEN $from_step AND $to_step
UNION ALL
SELECT session, ts FROM open_span WHERE run = $run AND part = 'session' AND step BETWEEN $from_step AND $to_step
UNION ALL
SELECT session, ts FROM span
WHERE run = $run AND part = 'session' AND task IN (SELECT value FROM trained_in_steps WHERE tag = 'task')
UNION ALL
SELECT session, ts FROM span
WHERE run = $run AND part = 'session' AND session IN (SELECT value FROM trained_in_steps WHERE tag = 'session')
