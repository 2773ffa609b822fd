-- When did the newest session begin that has ended? What is usual is measured back from there, however long all has stood still.
SELECT coalesce(max(ts), 0) AS ts FROM span WHERE run = $run AND part = 'session';
