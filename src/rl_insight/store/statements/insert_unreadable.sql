INSERT INTO unreadable VALUES ($source, $segment, $offset, $line, $error);
