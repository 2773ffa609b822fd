-- Which sessions are open, what is each doing, and is that usual? Suspects first, then the oldest.
WITH
-- include worker
-- include usual
stage AS (
    SELECT session, arg_max({'name': name, 'ts': ts, 'lane': lane}, (ts, seq)) AS phase
    FROM open_span WHERE run = $run AND part = 'phase' AND session IS NOT NULL
    GROUP BY session
),
open_session AS (
    SELECT
        open_span.session, task, proc, worker.worker, coalesce(worker.lost, false) AS lost, step,
        TRY_CAST(attrs ->> 'weights' AS DOUBLE) AS weights,
        coalesce(phase.lane, open_span.lane) AS lane,
        phase.name AS stage,
        ($at - phase.ts) / 1e9 AS stage_s,
        ($at - open_span.ts) / 1e9 AS age_s
    FROM open_span
    LEFT JOIN stage USING (session)
    LEFT JOIN worker USING (proc)
    WHERE open_span.run = $run AND open_span.part = 'session'
),
judged AS (
    SELECT
        open_session.*, whole.usual_s, part_of.usual_s AS stage_usual_s,
        greatest(age_s / nullif(whole.usual_s, 0), stage_s / nullif(part_of.usual_s, 0)) AS times_usual,
        -- Twice what nearly all need, and by more than the delay with which lines arrive.
        stage_s > greatest(2 * part_of.usual_s, part_of.usual_s + 2) AS slow_stage,
        age_s > greatest(2 * whole.usual_s, whole.usual_s + 2) AS slow
    FROM open_session
    LEFT JOIN usual AS whole ON whole.part = 'session' AND whole.name = 'session'
    LEFT JOIN usual AS part_of ON part_of.part = 'phase' AND part_of.name = stage
)
SELECT
    * EXCLUDE (slow_stage, slow),
    lost OR coalesce(slow_stage, false) OR coalesce(slow, false) AS suspect,
    CASE
        WHEN lost THEN 'its process is gone'
        WHEN slow_stage THEN printf('in %s for %.1f s; 95 %% take less than %.2g s', stage, stage_s, stage_usual_s)
        WHEN slow THEN printf('open for %.1f s; 95 %% take less than %.2g s', age_s, usual_s)
    END AS why,
    count(*) OVER () AS total, count(*) FILTER (lost OR slow_stage OR slow) OVER () AS suspects
FROM judged
ORDER BY suspect DESC, lost DESC, age_s DESC, session
LIMIT $most;
