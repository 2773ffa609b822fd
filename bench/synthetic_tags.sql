-- The tags of the facts that came after seq $seq.
INSERT INTO fact_tag
SELECT run, proc, seq, ts, name, unnest(json_keys(tags)), unnest(tags ->> '$.*'), segment
FROM fact WHERE seq > $seq ORDER BY ts;
