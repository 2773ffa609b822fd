-- How much has been counted of each series by these processes, after $since (ns since the epoch)?
SELECT name, labels, sum(value) AS value
FROM point
WHERE kind = 'count' AND proc IN (SELECT unnest($procs)) AND ts > $since
GROUP BY name, labels;
