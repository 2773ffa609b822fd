-- From when to when has a process been heard of, by any of its lines?
UPDATE process
SET first_ts = mark.first_ts, last_ts = mark.last_ts
FROM mark
WHERE process.proc = mark.proc AND mark.proc IN (SELECT unnest($procs));
