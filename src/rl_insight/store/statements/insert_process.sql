-- Processes heard of for the first time.
INSERT INTO process
SELECT
    run, proc, seq, ts, name, schema, project, experiment, role, rank, node, host, pid, parent, started, heartbeat,
    coalesce(state, 'running'), clock_offset, versions, config_hash, aliases, labels, attrs, ts, ts, $segment
FROM process_lines($file);
