-- Facts; their tags go to fact_tag as well.
INSERT INTO fact
SELECT
    run, proc, seq, ts, name, tags, op, "try", peer, outcome, reason, trace, parent, task, session, step, attrs,
    $segment
FROM line
WHERE kind = 'fact';
