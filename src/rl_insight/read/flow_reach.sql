-- When was the $cap-th newest fact of run $run before $to?
SELECT min(ts) AS since FROM (SELECT ts FROM fact WHERE run = $run AND ts < $to ORDER BY ts DESC LIMIT $cap);
