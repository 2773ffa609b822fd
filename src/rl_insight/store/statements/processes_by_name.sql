-- What do these processes say of themselves?
SELECT
    proc, seq, ts, name, run, schema, project, experiment, role, rank, node, host, pid, parent, started, heartbeat,
    state, clock_offset, versions, config_hash, aliases, labels, attrs
FROM process
WHERE proc IN (SELECT unnest($procs));
