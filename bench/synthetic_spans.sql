-- The spans of sessions $first to $last (64 to a step, 8 to a task, 16 spans each) and of their steps, as they would
-- have arrived: by the moment they ended.
INSERT INTO span
WITH one AS (
    SELECT
        number,
        'task-' || number // 8 AS task,
        'task-' || number // 8 || '.' || number % 8 AS session,
        'worker' || number % $workers AS proc,
        'worker-' || number % $workers || '/' || number // $workers % 8 AS lane,
        number // 64 AS step,
        1_700_000_000_000_000_000 + number * 15_625_000 AS start,
        -- Between 0.2 s and some seconds, with a long tail.
        (200_000_000 + 300_000_000 * -ln(1 - (hash(number) % 1_000_000) / 1_000_001.0))::BIGINT AS unit
    FROM generate_series($first::BIGINT, $last::BIGINT) AS series(number)
),
piece AS (
    -- (what, offset, length, parent) in units of a sixth of the session.
    SELECT unnest([
        {'part': 'session', 'name': 'session', 'begins': 0.0, 'lasts': 6.0, 'id': 's', 'parent': 't', 'state': false},
        {'part': 'turn', 'name': 'turn', 'begins': 0.0, 'lasts': 2.0, 'id': 'a', 'parent': 's', 'state': false},
        {'part': 'turn', 'name': 'turn', 'begins': 2.0, 'lasts': 2.0, 'id': 'b', 'parent': 's', 'state': false},
        {'part': 'turn', 'name': 'turn', 'begins': 4.0, 'lasts': 1.0, 'id': 'c', 'parent': 's', 'state': false},
        {'part': 'phase', 'name': 'generate', 'begins': 0.0, 'lasts': 1.2, 'id': 'd', 'parent': 'a', 'state': true},
        {'part': 'phase', 'name': 'tool', 'begins': 1.2, 'lasts': 0.7, 'id': 'e', 'parent': 'a', 'state': true},
        {'part': 'phase', 'name': 'generate', 'begins': 2.0, 'lasts': 1.3, 'id': 'f', 'parent': 'b', 'state': true},
        {'part': 'phase', 'name': 'tool', 'begins': 3.2, 'lasts': 0.7, 'id': 'g', 'parent': 'b', 'state': true},
        {'part': 'phase', 'name': 'generate', 'begins': 4.0, 'lasts': 1.0, 'id': 'h', 'parent': 'c', 'state': true},
        {'part': 'phase', 'name': 'reward', 'begins': 5.0, 'lasts': 0.9, 'id': 'i', 'parent': 's', 'state': true}
    ], recursive := true)
),
spans AS (
    SELECT
        one.proc, start + (begins * unit)::BIGINT AS ts, name, (lasts * unit)::BIGINT AS dur, id || number AS id,
        CASE parent WHEN 't' THEN 't' || number // 8 ELSE parent || number END AS parent, 'trace' || number // 8 AS trace,
        CASE WHEN state THEN lane END AS lane, task, session, step,
        CASE WHEN name = 'tool' AND number % 97 = 0 THEN 'error' END AS status,
        CASE WHEN name = 'tool' AND number % 97 = 0 THEN 'ToolError: no answer' END AS reason,
        part,
        CASE part
            WHEN 'session' THEN
                '{"weights":' || greatest(step - 1, 0) || ',"submitted_ns":' || start - 400_000_000 - number % 7 * 50_000_000
                || ',"reward":' || (number * 7919 % 100) / 100.0 || ',"tokens":' || 100 + number % 900 || ',"turns":3}'
            WHEN 'phase' THEN '{"tokens":' || number % 300 || ',"tool":"tool-' || number % 5 || '"}'
        END AS attrs
    FROM one, piece
    UNION ALL
    SELECT
        proc, start + (begins * unit)::BIGINT, name, (lasts * unit)::BIGINT, 'z' || id || number, NULL,
        'trace' || number // 8, lane, task, session, step, NULL, NULL, 'state', NULL
    FROM one, piece WHERE state
    UNION ALL
    SELECT
        'controller', min(start) - 500_000_000, 'task', max(start + 6 * unit) - min(start) + 500_000_000,
        't' || number // 8, NULL, 'trace' || number // 8, NULL, any_value(task), NULL, min(step), NULL, NULL, 'task', NULL
    FROM one GROUP BY number // 8
    UNION ALL
    SELECT
        'trainer', 1_700_000_000_000_000_000 + step * 1_000_000_000 + (begins * 1e9)::BIGINT, name, (lasts * 1e9)::BIGINT,
        id || step, CASE WHEN parent IS NOT NULL THEN parent || step END, 'step' || step, 'trainer', NULL, NULL, step,
        NULL, NULL, part, NULL
    FROM (SELECT DISTINCT step FROM one), (
        SELECT unnest([
            {'part': 'state', 'name': 'wait_batch', 'begins': 0.0, 'lasts': 0.3, 'id': 'A', 'parent': NULL},
            {'part': 'state', 'name': 'train', 'begins': 0.3, 'lasts': 0.5, 'id': 'B', 'parent': NULL},
            {'part': 'state', 'name': 'sync_weights', 'begins': 0.8, 'lasts': 0.19, 'id': 'C', 'parent': NULL},
            {'part': NULL, 'name': 'train_step', 'begins': 0.3, 'lasts': 0.5, 'id': 'D', 'parent': NULL},
            {'part': NULL, 'name': 'forward', 'begins': 0.3, 'lasts': 0.2, 'id': 'E', 'parent': 'D'},
            {'part': NULL, 'name': 'backward', 'begins': 0.5, 'lasts': 0.3, 'id': 'F', 'parent': 'D'}
        ], recursive := true)
    )
)
SELECT
    $run, proc, $seq + row_number() OVER (ORDER BY ts + dur), ts, name, dur, id, parent, trace, lane, task, session, step,
    status, reason, part, attrs, 1
FROM spans
ORDER BY ts + dur;
