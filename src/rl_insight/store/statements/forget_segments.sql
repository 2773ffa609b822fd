-- The rows whose lines the log is about to drop. {table} is one of the store's tables.
DELETE FROM {table} WHERE segment <= $through;
