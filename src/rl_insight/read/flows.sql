-- Which deliveries crossed between processes of run $run in [$from, $to)?
-- A delivery is a fact that opens it and those that close it: sent → received → applied or rejected, put → taken or
-- evicted, requested → answered; of the same group and subject, tied by a tag. It is paired by clocks put right, told as
-- recorded. Of many that look alike on the screen (within $width at both ends) one is told, with their number.
WITH
-- include worker
-- include item_tag
verb(verb, family) AS (
    VALUES ('received', 'sent'), ('applied', 'sent'), ('rejected', 'sent'), ('taken', 'put'), ('evicted', 'put'),
        ('answered', 'requested')
),
clock AS (SELECT proc, clock_offset AS off FROM process WHERE run = $run AND clock_offset <> 0),
-- Until when each process was heard from, and whether all it said has come.
listening AS (
    SELECT
        proc, heard_ts, lost OR state = 'finished' AS ended,
        proc NOT IN (SELECT proc FROM hole UNION ALL SELECT proc FROM lost WHERE run = $run) AS whole
    FROM worker JOIN process USING (proc)
),
-- What a peer may be called by those that name it; a name of several says less than one of its own.
named AS MATERIALIZED (
    SELECT name, list(DISTINCT proc) AS procs
    FROM (
        SELECT unnest([proc, worker, role, host || ':' || pid]) AS name, proc FROM worker
        UNION ALL SELECT unnest(aliases ->> '$.*'), proc FROM process WHERE run = $run AND aliases IS NOT NULL
    )
    WHERE name IS NOT NULL
    GROUP BY name
),
item AS (
    SELECT
        proc, seq, any_value(ts) AS ts, any_value(name) AS name, arg_min(tag, (coalesce(rank, 99), tag)) AS tag,
        arg_min(value, (coalesce(rank, 99), tag)) AS value
    FROM fact_tag LEFT JOIN item_tag USING (tag)
    WHERE run = $run AND ts >= $since AND ts < $to AND tag <> 'queue'
        AND (name LIKE '%.sent' OR name LIKE '%.put' OR name LIKE '%.requested')
    GROUP BY proc, seq
),
opening AS MATERIALIZED (
    SELECT
        item.* EXCLUDE (name), item.ts + coalesce(off, 0) AS moment, split_part(item.name, '.', -1) AS family,
        left(item.name, -length(family) - 1) AS stem, hash(stem, family, item.tag, item.value) AS key, fact.trace, fact.peer,
        CASE WHEN len(named.procs) = 1 THEN named.procs[1] END AS addressed
    FROM item
    JOIN fact ON fact.proc = item.proc AND fact.seq = item.seq AND fact.run = $run AND fact.ts >= $since AND fact.ts < $to
    LEFT JOIN named ON named.name = fact.peer
    LEFT JOIN clock ON clock.proc = item.proc
),
-- A fact may close by any of its tags.
tagged AS MATERIALIZED (
    SELECT proc, seq, ts, name, tag, value FROM fact_tag SEMI JOIN opening USING (tag, value)
    WHERE run = $run AND ts >= $since AND tag <> 'queue'
        AND (
            name LIKE '%.received' OR name LIKE '%.applied' OR name LIKE '%.rejected' OR name LIKE '%.taken'
            OR name LIKE '%.evicted' OR name LIKE '%.answered'
        )
),
closing AS MATERIALIZED (
    SELECT
        tagged.* EXCLUDE (name, tag, value), tagged.ts + coalesce(off, 0) AS moment, verb, family,
        left(tagged.name, -length(verb) - 1) AS stem, hash(stem, family, tag, value) AS key, fact.trace, fact.outcome, fact.reason, named.procs AS peers
    FROM tagged
    JOIN verb ON verb = split_part(tagged.name, '.', -1)
    JOIN fact ON fact.proc = tagged.proc AND fact.seq = tagged.seq AND fact.run = $run AND fact.ts >= $since
    LEFT JOIN named ON named.name = fact.peer
    LEFT JOIN clock ON clock.proc = tagged.proc
),
-- Sent to this very process; else the last one that was sent to anybody. Clocks put right still differ by a little.
candidate AS (
    SELECT closing.*, opening.proc AS from_proc, opening.seq AS from_seq, opening.moment AS left_at, false AS anybody
    FROM closing JOIN opening ON opening.key = closing.key AND opening.addressed = closing.proc
    UNION ALL
    SELECT closing.*, opening.proc, opening.seq, opening.moment, true
    FROM closing ASOF JOIN (FROM opening WHERE addressed IS NULL) AS opening
        ON opening.key = closing.key AND closing.moment + 20_000_000 >= opening.moment
),
paired AS (
    SELECT * FROM candidate
    QUALIFY row_number() OVER (
        PARTITION BY proc, seq
        ORDER BY anybody, peers IS NOT NULL AND NOT list_contains(peers, from_proc), moment < left_at, abs(moment - left_at)
    ) = 1
),
arrived AS MATERIALIZED (
    SELECT
        from_proc, from_seq, proc AS receiver, any_value(stem) AS stem, any_value(family) AS family, min(ts) AS arrived,
        min(moment) - any_value(left_at) AS took, max(ts) FILTER (verb IN ('applied', 'rejected')) AS done,
        arg_max(verb, moment) AS verb, arg_min(trace, ts) AS trace, arg_max(reason, moment) AS reason,
        bool_or(verb = 'rejected' OR coalesce(outcome, 'ok') <> 'ok') AS refused
    FROM paired
    GROUP BY from_proc, from_seq, proc
),
-- Ten times what 95 in 100 take, and no less than five seconds: what has not arrived by then does not.
deadline AS (
    SELECT stem, family, greatest(10 * quantile_cont(greatest(took, 0), 0.95), 5e9) AS allowed
    FROM arrived
    GROUP BY stem, family
),
-- Which processes ever record that something has arrived?
closes AS (
    SELECT left(name, -length(verb) - 1) AS stem, family, list(proc) AS procs
    FROM (SELECT DISTINCT name, proc FROM fact WHERE run = $run) JOIN verb ON verb = split_part(name, '.', -1)
    WHERE verb <> 'evicted'
    GROUP BY ALL
),
-- What nobody has recorded the arrival of, and who could have.
awaited AS (
    SELECT
        proc, seq, family, addressed, coalesce(allowed, 30e9) + moment AS until, closes.stem IS NULL AS never,
        unnest(CASE WHEN addressed IS NULL THEN procs ELSE [addressed] END) AS receiver
    FROM opening
    ANTI JOIN arrived ON arrived.from_proc = opening.proc AND arrived.from_seq = opening.seq
    LEFT JOIN closes USING (stem, family)
    LEFT JOIN deadline USING (stem, family)
    WHERE ts >= $from
),
verdict AS (
    SELECT
        awaited.proc AS from_proc, seq AS from_seq, any_value(addressed) AS receiver,
        CASE
            WHEN bool_or(never) THEN 'unrecorded'
            WHEN bool_or(NOT whole) THEN 'unknown'
            -- What waits in a queue has no deadline.
            WHEN any_value(family) = 'put' THEN 'pending'
            WHEN bool_and(heard_ts >= until) THEN 'missing'
            WHEN bool_or(heard_ts < until AND ended) THEN 'unknown'
            ELSE 'pending'
        END AS verdict
    FROM awaited LEFT JOIN listening ON listening.proc = receiver
    GROUP BY awaited.proc, seq
),
delivery AS MATERIALIZED (
    SELECT
        stem, family, proc AS sender, receiver, ts AS sent, arrived, done, verb, verdict, tag, value, reason, peer,
        opening.trace AS sender_trace, told.trace AS receiver_trace, row_number() OVER () AS nr
    FROM (
        SELECT
            from_proc, from_seq, receiver, arrived, done, verb, trace, reason,
            CASE WHEN verb = 'evicted' THEN 'evicted' WHEN refused THEN 'rejected' ELSE 'found' END AS verdict
        FROM arrived
        WHERE arrived >= $from AND (receiver <> from_proc OR verb = 'evicted')
        UNION ALL
        SELECT from_proc, from_seq, receiver, NULL, NULL, NULL, NULL, NULL, verdict FROM verdict
    ) AS told
    JOIN opening ON opening.proc = from_proc AND opening.seq = from_seq
    WHERE len($procs::VARCHAR[]) = 0 OR list_contains($procs, proc) OR list_contains($procs, receiver)
),
alike AS (
    SELECT count(*) AS n, arg_max(nr, coalesce(arrived - sent, 0)) AS nr
    FROM delivery
    WHERE verdict <> 'unrecorded'
    GROUP BY stem, family, sender, receiver, verdict, sent // $width, arrived // $width
    ORDER BY verdict NOT IN ('missing', 'rejected'), verdict = 'pending', max(arrived - sent) DESC NULLS LAST, min(sent), sender, receiver
    LIMIT $most
),
kind AS (
    SELECT
        stem, family AS opened, count(*) FILTER (verdict <> 'unrecorded') AS n,
        count(*) FILTER (verdict = 'found') AS found, count(*) FILTER (verdict = 'missing') AS missing,
        count(*) FILTER (verdict = 'unknown') AS unknown, count(*) FILTER (verdict = 'pending') AS pending,
        count(*) FILTER (verdict = 'evicted') AS evicted, count(*) FILTER (verdict = 'rejected') AS rejected,
        -- A delivery is often recorded as sent a moment after it was.
        count(*) FILTER (arrived < sent - 1_000_000) AS backwards, count(*) FILTER (verdict = 'unrecorded') AS unrecorded,
        quantile_cont(greatest(arrived - sent, 0) / 1e9, 0.5) AS p50_s, quantile_cont(greatest(arrived - sent, 0) / 1e9, 0.95) AS p95_s,
        max((arrived - sent) / 1e9) AS max_s
    FROM delivery
    GROUP BY stem, family
)
SELECT
    (
        SELECT coalesce(list({
            'n': n, 'stem': stem, 'opened': family, 'sender': sender, 'receiver': receiver, 'sent': sent, 'arrived': arrived,
            'done': done, 'closed': verb, 'verdict': verdict, 'tag': tag, 'value': value, 'reason': reason, 'peer': peer,
            'sender_trace': sender_trace, 'receiver_trace': receiver_trace
        } ORDER BY verdict NOT IN ('missing', 'rejected'), verdict = 'pending', arrived - sent DESC NULLS LAST, sent, sender, receiver), [])
        FROM alike JOIN delivery USING (nr)
    ) AS told,
    (SELECT coalesce(list(kind ORDER BY n DESC, stem), []) FROM kind) AS kinds;
