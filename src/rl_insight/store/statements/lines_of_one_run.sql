-- The lines of a chunk with their run, when all are of the one that the variable names: no join is needed.
CREATE OR REPLACE TEMP VIEW line AS
SELECT getvariable('run') AS run, * FROM incoming;
