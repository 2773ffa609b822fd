UPDATE position SET segment = $segment, "offset" = $offset WHERE source = $source;
