-- The lines of a chunk, with the columns of every kind but `process`, whose many would cost each line something.
CREATE OR REPLACE TEMP TABLE incoming AS
SELECT *
FROM read_json(
    $file, format = 'newline_delimited', maximum_object_size = $longest,
    columns = {
        kind: 'VARCHAR', proc: 'VARCHAR', seq: 'BIGINT', ts: 'BIGINT', name: 'VARCHAR', value: 'DOUBLE',
        labels: 'JSON', step: 'BIGINT', task: 'VARCHAR', session: 'VARCHAR', dur: 'BIGINT', id: 'VARCHAR',
        parent: 'VARCHAR', trace: 'VARCHAR', lane: 'VARCHAR', status: 'VARCHAR', reason: 'VARCHAR', part: 'VARCHAR',
        attrs: 'JSON',
        level: 'VARCHAR', logger: 'VARCHAR', tags: 'JSON', op: 'VARCHAR', "try": 'BIGINT', peer: 'VARCHAR',
        outcome: 'VARCHAR', count: 'BIGINT'
    }
);
