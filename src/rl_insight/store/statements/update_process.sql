-- What a heartbeat says replaces what the one before said. The run of a process never changes.
UPDATE process
SET seq = said.seq, ts = said.ts, name = said.name, schema = said.schema, project = said.project,
    experiment = said.experiment, role = said.role, rank = said.rank, node = said.node, host = said.host,
    pid = said.pid, parent = said.parent, started = said.started, heartbeat = said.heartbeat,
    state = coalesce(said.state, 'running'), clock_offset = said.clock_offset, versions = said.versions,
    config_hash = said.config_hash, aliases = said.aliases, labels = said.labels, attrs = said.attrs,
    segment = $segment
FROM process_lines($file) AS said
WHERE process.proc = said.proc;
