-- Process lines with their columns. Every other kind does without these, as each column costs each line something.
CREATE OR REPLACE TEMP MACRO process_lines(file) AS TABLE
SELECT *
FROM read_json(
    file, format = 'newline_delimited', maximum_object_size = 67108864,
    columns = {
        run: 'VARCHAR', proc: 'VARCHAR', seq: 'BIGINT', ts: 'BIGINT', name: 'VARCHAR', schema: 'VARCHAR',
        project: 'VARCHAR', experiment: 'VARCHAR', role: 'VARCHAR', rank: 'BIGINT', node: 'VARCHAR',
        host: 'VARCHAR', pid: 'BIGINT', parent: 'VARCHAR', started: 'BIGINT', heartbeat: 'DOUBLE',
        state: 'VARCHAR', clock_offset: 'BIGINT', versions: 'JSON', config_hash: 'VARCHAR', aliases: 'JSON',
        labels: 'JSON', attrs: 'JSON'
    }
);
