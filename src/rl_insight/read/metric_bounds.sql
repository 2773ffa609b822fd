-- Which buckets has histogram $name of run $run? Those into which nothing fell have no points but their first.
SELECT DISTINCT labels ->> 'le' AS le FROM point WHERE run = $run AND name = $name AND kind = 'count' LIMIT 1000;
