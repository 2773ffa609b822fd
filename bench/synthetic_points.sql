-- The metrics of sessions $first to $last: of each session, each step, and each second of the machine they ran on.
INSERT INTO point
WITH session AS (
    SELECT number, number // 64 AS step, 1_700_000_000_000_000_000 + number * 15_625_000 AS ts
    FROM generate_series($first::BIGINT, $last::BIGINT) AS series(number)
),
step AS (SELECT DISTINCT step, 1_700_000_000_000_000_000 + step * 1_000_000_000 AS ts FROM session),
points AS (
    SELECT
        'sample' AS kind, 'worker' || number % 16 AS proc, ts, 'tool_latency_seconds' AS name,
        0.05 * -ln(1 - (hash(number) % 1_000_000) / 1_000_001.0) AS value, {'tool': 'tool-' || number % 5}::JSON AS labels, step
    FROM session
    UNION ALL
    SELECT 'count', 'worker' || number % 16, ts, 'rollout_tokens', 100 + number % 900, {'worker': (number % 16)::VARCHAR}::JSON, step
    FROM session
    UNION ALL
    SELECT 'gauge', 'trainer', ts + 900_000_000, name, (hash(step, name) % 1000) / 1000.0 + step / 1000.0, NULL, step
    FROM step, (VALUES ('reward_mean'), ('loss'), ('grad_norm'), ('entropy')) AS names(name)
    UNION ALL
    SELECT 'gauge', 'controller', ts, name, hash(step, name) % 100, '{"node":"node-0"}'::JSON, step
    FROM step, (VALUES ('node_cpu_percent'), ('node_memory_used_bytes')) AS names(name)
)
SELECT $run, kind, proc, $seq + row_number() OVER (ORDER BY ts), ts, name, value, labels, step, NULL, NULL, 1
FROM points
ORDER BY ts;
