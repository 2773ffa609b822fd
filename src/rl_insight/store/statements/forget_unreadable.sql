DELETE FROM unreadable WHERE source = $source AND segment <= $through;
