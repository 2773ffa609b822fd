-- One row a tag. Keys and values come in the same order; extracting by key would need a path made of it.
INSERT INTO fact_tag
SELECT run, proc, seq, ts, name, unnest(json_keys(tags)), unnest(tags ->> '$.*'), $segment
FROM line
WHERE kind = 'fact' AND tags IS NOT NULL;
