-- Unreadable lines of segments that the log is about to drop.
DELETE FROM unreadable WHERE source = $source AND segment <= $through;
