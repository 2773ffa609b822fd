-- How many spans are in the scope?
WITH
-- include worker
found AS (SELECT ts FROM span /*joined*/ WHERE run = $run /*where*/)
SELECT count(*) AS spans FROM found;
