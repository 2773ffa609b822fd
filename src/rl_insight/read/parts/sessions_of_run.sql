-- The newest sessions, with the fills 'spans' and 'facts' as further conditions.
(SELECT session, ts FROM span
    WHERE run = $run AND part = 'session' AND session IS NOT NULL /*spans*/ ORDER BY ts DESC LIMIT $cap)
UNION ALL
SELECT session, ts FROM open_span WHERE run = $run AND part = 'session' AND session IS NOT NULL /*spans*/
UNION ALL
-- Finished by others before its own process could tell of it, as when that was killed.
(SELECT value, ts FROM fact_tag
    WHERE run = $run AND name = 'session.sample.finished' AND tag = 'session' /*facts*/ ORDER BY ts DESC LIMIT $cap)
