-- The marks stay; there is nothing behind them any more.
UPDATE mark SET lines = 0, first_ts = NULL, last_ts = NULL WHERE proc IN (SELECT unnest($procs));
