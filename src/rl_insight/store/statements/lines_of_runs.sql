-- The lines of a chunk with their run; 'unknown' until the line of their process has come.
CREATE OR REPLACE TEMP VIEW line AS
SELECT coalesce(process.run, 'unknown') AS run, incoming.* FROM incoming LEFT JOIN process USING (proc);
