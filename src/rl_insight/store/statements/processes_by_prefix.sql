-- What do the processes say of themselves whose names begin so?
SELECT
    proc, seq, ts, name, run, schema, project, experiment, role, rank, node, host, pid, parent, started, heartbeat,
    state, clock_offset, versions, config_hash, aliases, labels, attrs
FROM process
WHERE starts_with(proc, $prefix);
