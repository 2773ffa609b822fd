-- Of which of the processes $procs are lines known to be stored, or to have been until retention took them?
SELECT proc FROM mark WHERE lines > 0 AND proc IN (SELECT unnest($procs));
