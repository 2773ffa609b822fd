-- Which processes had lines here before the line came that names their run?
SELECT proc FROM incoming_process
WHERE proc IN (SELECT proc FROM mark) AND proc NOT IN (SELECT proc FROM process);
