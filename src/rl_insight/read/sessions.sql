-- Where did the time of each session go, and how did it end?
-- The fill 'early' chooses by what is known without its phases, 'late' by what they add up to.
WITH
-- include session_head
chosen AS MATERIALIZED (
    SELECT *, count(*) OVER () AS matching, (SELECT count(*) FROM session_head) AS considered
    FROM session_head
    WHERE true /*early*/
    /*early order*/
),
-- include session_times
found AS MATERIALIZED (
    SELECT *, count(*) OVER () AS left_over FROM session_row WHERE true /*late*/ /*late order*/
),
-- include session_names
answer AS (SELECT found.*, coalesce(phases, []) AS phases FROM found LEFT JOIN session_names USING (session))
SELECT
    session, task, status, reason, error, step, trained_step, worker, proc,
    submitted_ns / 1e6 AS submitted, start_ns / 1e6 AS start, end_ns / 1e6 AS "end",
    open, lost, stage, stage_s, age_s, total_s, queue_s, generate_s, tool_s, reward_s, other_s, idle_s, phases,
    turns, tokens, reward, weights, staleness, errors, considered, /*total*/ AS matching
FROM answer
/*order*/;
