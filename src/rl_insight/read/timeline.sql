-- What did the lanes ($procs, $lanes) of run $run do in [$from, $to)?
-- Intervals of at least $width are told one by one. Shorter ones are merged into blocks of $width, each called after
-- what took most of its time, so that the answer does not grow with the number of intervals.
WITH wanted AS (
    SELECT unnest($procs) AS proc, unnest($lanes) AS lane, unnest(range(len($procs))) AS nr
),
seen AS MATERIALIZED (
    SELECT nr, name, ts, dur, coalesce(part, '') AS part, seq, status IS NOT NULL AND status <> 'ok' AS bad
    FROM span JOIN wanted ON span.proc = wanted.proc AND coalesce(span.lane, '') = wanted.lane
    WHERE run = $run AND ts < $to AND ts + dur > $from AND (NOT $states_only OR part = 'state')
),
short AS (
    SELECT
        nr, part, floor((ts - $from) * $per_ns)::INT AS block, name,
        count(*) AS n, sum(dur) AS dur, bool_or(bad) AS bad
    FROM seen WHERE dur < $width
    GROUP BY ALL
),
block AS (
    SELECT
        nr, part, block, list_position($names, arg_max(name, dur)) - 1 AS name,
        sum(n)::INT AS n, (100 * sum(dur) / $width)::INT AS covered, bool_or(bad)::INT AS bad
    FROM short
    GROUP BY nr, part, block
),
long AS (
    SELECT nr, part, list_position($names, name) - 1 AS name, (ts - $from) // 1000 AS start, dur // 1000 AS dur, seq, bad::INT AS bad
    FROM seen WHERE dur >= $width
    ORDER BY seen.dur DESC, seen.ts, nr, seq
    LIMIT $most
)
SELECT nr, part, 'blocks' AS what, count(*) AS rows, to_json(list([block, n, name, covered, bad])) AS items
FROM block
GROUP BY nr, part
UNION ALL
SELECT nr, part, 'spans', count(*), to_json(list([start, dur, name, seq, bad]))
FROM long
GROUP BY nr, part
ORDER BY nr, part, what;
