-- How far has the log been projected, and which process is the newest? Marks are never deleted, so their rows stay in place.
SELECT
    coalesce((SELECT max(segment) FROM position WHERE source = 'log'), -1) AS segment,
    coalesce((SELECT max(rowid) FROM mark), -1) AS newest_mark;
