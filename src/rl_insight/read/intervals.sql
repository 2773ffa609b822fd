-- What were the sessions in $sessions doing, phase by phase?
WITH
-- include phase_class
phase AS (
    SELECT session, name, ts, ts + dur AS ended, attrs
    FROM span WHERE run = $run AND part = 'phase' AND session IN (SELECT unnest($sessions::VARCHAR[]))
    UNION ALL
    SELECT session, name, ts, greatest(ts, $at), attrs
    FROM open_span WHERE run = $run AND part = 'phase' AND session IN (SELECT unnest($sessions::VARCHAR[]))
)
SELECT
    session,
    list({
        'stage': coalesce(phase_class.stage, name), 'start': ts / 1e6, 'end': ended / 1e6,
        'weights': TRY_CAST(attrs ->> 'weights' AS DOUBLE)
    } ORDER BY ts, ended) AS intervals
FROM phase LEFT JOIN phase_class ON phase_class.word = lower(regexp_extract(name, '^[^:./ ]+'))
GROUP BY session;
