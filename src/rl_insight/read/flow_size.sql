-- How many facts of run $run are there before $to, and in [$from, $to)?
SELECT count(*) AS before, count(*) FILTER (ts >= $from) AS inside FROM fact WHERE run = $run AND ts < $to;
