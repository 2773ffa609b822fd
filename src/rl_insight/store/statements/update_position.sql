-- The source has been projected to here.
UPDATE position SET segment = $segment, "offset" = $offset WHERE source = $source;
