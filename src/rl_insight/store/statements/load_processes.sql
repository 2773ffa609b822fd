-- The latest process line of each process in a chunk, under the run that its first one names.
CREATE OR REPLACE TEMP TABLE incoming_process AS
SELECT
    * REPLACE (first_value(run) OVER (PARTITION BY proc ORDER BY seq) AS run),
    count(*) OVER () AS total
FROM read_json(
    $file, format = 'newline_delimited', maximum_object_size = $longest,
    columns = {
        kind: 'VARCHAR', run: 'VARCHAR', proc: 'VARCHAR', seq: 'BIGINT', ts: 'BIGINT', name: 'VARCHAR',
        schema: 'VARCHAR', project: 'VARCHAR', experiment: 'VARCHAR', role: 'VARCHAR', rank: 'BIGINT',
        node: 'VARCHAR', host: 'VARCHAR', pid: 'BIGINT', parent: 'VARCHAR', started: 'BIGINT',
        heartbeat: 'DOUBLE', state: 'VARCHAR', clock_offset: 'BIGINT', versions: 'JSON', config_hash: 'VARCHAR',
        aliases: 'JSON', labels: 'JSON', attrs: 'JSON'
    }
)
WHERE kind = 'process'
QUALIFY row_number() OVER (PARTITION BY proc ORDER BY seq DESC) = 1;
