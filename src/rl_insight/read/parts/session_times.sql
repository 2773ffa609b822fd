-- What the phases of the sessions in `chosen` add up to, in union time: two that overlap count once.
-- include phase_class
session_part AS MATERIALIZED (
    SELECT session, name, part, ts, ts + dur AS ended, status,
        CASE WHEN part = 'phase' THEN attrs ->> 'tokens' END AS tokens
    FROM span WHERE run = $run AND part IN ('phase', 'turn') AND session IN (SELECT session FROM chosen)
    UNION ALL
    SELECT session, name, part, ts, greatest(ts, $at), NULL, NULL
    FROM open_span WHERE run = $run AND part IN ('phase', 'turn') AND session IN (SELECT session FROM chosen)
),
session_phase AS MATERIALIZED (
    SELECT
        session, name, coalesce(phase_class.stage, name) AS stage, ts, ended, tokens,
        status IN ('error', 'timeout') AS failed, false AS waited
    FROM session_part
    LEFT JOIN phase_class ON phase_class.word = lower(regexp_extract(name, '^[^:./ ]+'))
    WHERE part = 'phase'
    UNION ALL
    -- From its submission on a session waits, though no phase says so.
    SELECT session, 'queue', 'queue', submitted_ns, start_ns, NULL, NULL, true
    FROM chosen WHERE submitted_ns < start_ns
),
session_covered AS MATERIALIZED (
    SELECT
        session_phase.*,
        CASE WHEN stage IN ('queue', 'generate', 'tool', 'reward') THEN stage ELSE 'other' END AS bucket,
        max(ended) OVER (PARTITION BY session, bucket ORDER BY ts, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            AS before_in_bucket,
        max(ended) OVER (PARTITION BY session, name ORDER BY ts, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            AS before_in_name,
        max(ended) OVER (PARTITION BY session ORDER BY ts, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            AS before
    FROM session_phase
),
session_bucket AS (
    SELECT
        session,
        sum(own) FILTER (bucket = 'queue') AS queue_s,
        sum(own) FILTER (bucket = 'generate') AS generate_s,
        sum(own) FILTER (bucket = 'tool') AS tool_s,
        sum(own) FILTER (bucket = 'reward') AS reward_s,
        sum(own) FILTER (bucket = 'other') AS other_s,
        sum(covered) AS covered_s,
        sum(TRY_CAST(tokens AS DOUBLE)) FILTER (bucket = 'generate') AS tokens,
        count(*) FILTER (failed) AS errors
    FROM (
        SELECT
            session_covered.*,
            greatest(0, ended - greatest(ts, coalesce(before_in_bucket, ts))) / 1e9 AS own,
            -- Of the session's own time: what another process did for it before or after does not fill it.
            greatest(0, least(ended, coalesce(end_ns, $at)) - greatest(ts, coalesce(before, ts), start_ns)) / 1e9 AS covered
        FROM session_covered JOIN chosen USING (session)
    )
    GROUP BY session
),
session_turn AS (SELECT session, count(*) AS turns FROM session_part WHERE part = 'turn' GROUP BY session),
session_row AS (
    SELECT
        chosen.* EXCLUDE (tokens, turns),
        coalesce(chosen.tokens, session_bucket.tokens) AS tokens,
        coalesce(chosen.turns, session_turn.turns)::BIGINT AS turns,
        coalesce(queue_s, 0) AS queue_s,
        coalesce(generate_s, 0) AS generate_s,
        coalesce(tool_s, 0) AS tool_s,
        coalesce(session_bucket.reward_s, 0) AS reward_s,
        coalesce(other_s, 0) AS other_s,
        greatest(0, total_s - coalesce(covered_s, 0)) AS idle_s,
        coalesce(errors, 0) AS errors
    FROM chosen
    LEFT JOIN session_bucket USING (session)
    LEFT JOIN session_turn USING (session)
)
