-- Which is the last row of {table}? Looked for after one that is known.
SELECT rowid, proc, seq FROM {table} WHERE rowid > $after ORDER BY rowid DESC LIMIT 1;
