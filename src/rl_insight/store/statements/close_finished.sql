-- A process that has finished has nothing open.
DELETE FROM open_span
WHERE proc IN (SELECT proc FROM incoming_process WHERE state = 'finished');
