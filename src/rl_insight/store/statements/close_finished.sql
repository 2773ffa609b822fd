-- A process that has finished has nothing open.
DELETE FROM open_span WHERE proc IN (SELECT unnest($procs));
