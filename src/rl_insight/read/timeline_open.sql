-- Which intervals on the lanes ($procs, $lanes) of run $run are still running, of those that began before $to?
WITH wanted AS (
    SELECT unnest($procs) AS proc, unnest($lanes) AS lane, unnest(range(len($procs))) AS nr
)
SELECT nr, coalesce(part, '') AS part, list_position($names, name) - 1 AS name, ts / 1e6 AS start, seq
FROM open_span JOIN wanted ON open_span.proc = wanted.proc AND coalesce(open_span.lane, '') = wanted.lane
WHERE run = $run AND ts < $to AND (NOT $states_only OR part = 'state')
ORDER BY ts DESC, nr, open_span.part, open_span.name, open_span.id
LIMIT $most;
