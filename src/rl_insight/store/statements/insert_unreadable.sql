-- A line that could not be read, kept for somebody to look at.
INSERT INTO unreadable VALUES ($source, $segment, $offset, $line, $error);
