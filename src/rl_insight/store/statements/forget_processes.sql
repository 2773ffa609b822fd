-- The rows of a deleted run, as far as its deletion goes. {table} is one of the store's tables.
DELETE FROM {table} WHERE segment <= $through AND proc IN (SELECT unnest($procs));
