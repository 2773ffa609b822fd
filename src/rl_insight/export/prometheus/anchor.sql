-- Is the row that was the last of {table} where it was? Rows move when others before them are deleted.
SELECT proc, seq FROM {table} WHERE rowid = $row;
