-- How fast does DuckDB read lines when nothing else is asked of it?
CREATE OR REPLACE TEMP TABLE incoming AS
SELECT *
FROM read_json(
    $file, format = 'newline_delimited',
    columns = {
        kind: 'VARCHAR', proc: 'VARCHAR', seq: 'BIGINT', ts: 'BIGINT', name: 'VARCHAR', value: 'DOUBLE',
        labels: 'JSON', step: 'BIGINT', task: 'VARCHAR', session: 'VARCHAR', dur: 'BIGINT', id: 'VARCHAR',
        parent: 'VARCHAR', trace: 'VARCHAR', lane: 'VARCHAR', status: 'VARCHAR', reason: 'VARCHAR', attrs: 'JSON',
        level: 'VARCHAR', logger: 'VARCHAR', tags: 'JSON', op: 'VARCHAR', "try": 'BIGINT', peer: 'VARCHAR',
        outcome: 'VARCHAR', count: 'BIGINT'
    }
);
