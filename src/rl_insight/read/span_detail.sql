-- All about one interval of run $run.
SELECT
    proc, seq, name, coalesce(part, '') AS part, lane, ts / 1e6 AS start, dur / 1e6 AS dur_ms, false AS open, id, parent, trace, task,
    session, step, status, reason, attrs
FROM span WHERE run = $run AND proc = $proc AND seq = $seq
UNION ALL
SELECT
    proc, seq, name, coalesce(part, ''), lane, ts / 1e6, NULL, true, id, parent, trace, task, session, step, NULL, NULL, attrs
FROM open_span WHERE run = $run AND proc = $proc AND seq = $seq;
