-- The first position of a source.
INSERT INTO position SELECT $source, $segment, $offset WHERE $source NOT IN (SELECT source FROM position);
