-- The facts of sessions $first to $last: how tasks ended, the replay queue, weights sent and applied.
INSERT INTO fact
WITH task AS (
    SELECT number, 1_700_000_000_000_000_000 + number * 125_000_000 AS start, number // 8 AS step
    FROM generate_series(($first // 8)::BIGINT, ($last // 8)::BIGINT) AS series(number)
),
step AS (SELECT DISTINCT step, 1_700_000_000_000_000_000 + step * 1_000_000_000 AS start FROM task),
facts AS (
    SELECT 'controller' AS proc, start AS ts, 'task.item.put' AS name, {'task': 'task-' || number}::JSON AS tags,
        NULL AS peer, NULL AS outcome, NULL AS reason, 'task-' || number AS task, NULL AS session, step, NULL AS attrs
    FROM task
    UNION ALL
    SELECT 'controller', start + 2_000_000_000, 'queue.sample.put', {'task': 'task-' || number, 'queue': 'replay'}::JSON,
        NULL, NULL, NULL, 'task-' || number, NULL, step, '{"depth":3}' FROM task
    UNION ALL
    SELECT 'trainer', start + 3_000_000_000 + number % 5 * 100_000_000, 'queue.sample.taken',
        {'task': 'task-' || number, 'queue': 'replay', 'batch': 'batch-' || step}::JSON,
        NULL, NULL, NULL, NULL, NULL, step, NULL FROM task
    UNION ALL
    SELECT 'controller', start + 3_000_000_000, 'task.item.finished', {'task': 'task-' || number}::JSON, NULL, NULL, NULL,
        'task-' || number, NULL, step, '{"status":"accepted"}' FROM task
    UNION ALL
    SELECT 'controller', start + 2_500_000_000, 'session.sample.finished',
        {'session': 'task-' || number || '.3', 'task': 'task-' || number}::JSON, NULL, NULL, 'too stale', NULL, NULL, step,
        '{"status":"rejected","staleness":5}' FROM task
    UNION ALL
    SELECT 'trainer', start + 900_000_000, 'train.step.finished', {'step': step::VARCHAR}::JSON, NULL, 'ok', NULL, NULL, NULL,
        step, NULL FROM step
    UNION ALL
    SELECT 'trainer', start + 900_000_000, 'weights.version.sent', {'weights': step::VARCHAR}::JSON, 'worker-0', NULL, NULL,
        NULL, NULL, step, NULL FROM step
    UNION ALL
    SELECT 'worker' || rank, start + 910_000_000, 'weights.version.applied', {'weights': step::VARCHAR}::JSON, NULL, NULL,
        NULL, NULL, NULL, step, NULL FROM step, range($workers) AS workers(rank)
)
SELECT
    $run, proc, $seq + row_number() OVER (ORDER BY ts), ts, name, tags, NULL, NULL, peer, outcome, reason, NULL, NULL, task,
    session, step, attrs, 1
FROM facts
ORDER BY ts;
