-- Processes, and what is open at the end: 64 sessions, one of which hangs in a tool.
INSERT INTO process
SELECT
    $run, proc, 1, $now, 'process', '1.0', 'bench', 'synthetic', role, rank, 'node-0', 'node-0', 1, NULL,
    1_700_000_000_000_000_000, 5.0, 'running', 0, NULL, NULL, NULL, NULL, NULL, 1_700_000_000_000_000_000, $now, 1
FROM (
    SELECT 'worker' || rank AS proc, 'rollout' AS role, rank FROM range($workers) AS workers(rank)
    UNION ALL VALUES ('trainer', 'trainer', 0), ('controller', 'controller', 0)
);
INSERT INTO mark SELECT proc, 1_000_000_000, $lines // ($workers + 2), first_ts, last_ts FROM process;
INSERT INTO open_span
SELECT
    $run, 'worker' || number % $workers, $seq + number, $now - (CASE number WHEN 7 THEN 60 ELSE 1 END * 1e9)::BIGINT - number,
    CASE WHEN phase THEN 'tool' ELSE 'session' END, CASE WHEN phase THEN 'op' ELSE 'os' END || number,
    CASE WHEN phase THEN 'os' || number END, 'open' || number,
    CASE WHEN phase THEN 'worker-' || number % $workers || '/0' END, 'open-' || number // 8, 'open-' || number // 8 || '.' || number % 8,
    $step, CASE WHEN phase THEN 'phase' ELSE 'session' END, NULL, 1
FROM range(64) AS series(number), (VALUES (true), (false)) AS pair(phase);
