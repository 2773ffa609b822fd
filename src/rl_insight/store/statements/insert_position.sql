-- The first position of a source.
INSERT INTO position VALUES ($source, $segment, $offset);
