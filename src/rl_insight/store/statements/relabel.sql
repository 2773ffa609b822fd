-- Rows that came before the line that names their run get it now. {table} is one of the store's tables.
UPDATE {table}
SET run = process.run
FROM process
WHERE {table}.run = 'unknown' AND {table}.proc = process.proc AND {table}.proc IN (SELECT unnest($procs));
