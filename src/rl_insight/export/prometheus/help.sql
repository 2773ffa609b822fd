-- What do people say of their metrics? Process lines tell, of the processes $procs.
SELECT help
FROM (SELECT json_extract(attrs, '$.help')::VARCHAR AS help FROM process WHERE proc IN (SELECT unnest($procs)))
WHERE starts_with(help, '{');
