-- Sessions in scope, without what their phases tell: who, when, and how each ended by the last word on it.
/*before*/
session_id AS MATERIALIZED (
    SELECT session FROM (/*in scope*/) WHERE session IS NOT NULL GROUP BY session ORDER BY max(ts) DESC LIMIT $cap
),
session_span AS MATERIALIZED (
    SELECT session, task, proc, ts, ts + dur AS ended, step, status, reason, false AS open,
        attrs ->> ['submitted_ns', 'weights', 'reward', 'tokens', 'turns', 'staleness'] AS number
    FROM span WHERE run = $run AND part = 'session' AND session IN (FROM session_id)
    UNION ALL
    SELECT session, task, proc, ts, NULL, step, NULL, NULL, true,
        attrs ->> ['submitted_ns', 'weights', 'reward', 'tokens', 'turns', 'staleness']
    FROM open_span WHERE run = $run AND part = 'session' AND session IN (FROM session_id)
),
session_known AS (
    SELECT
        session,
        arg_max(task, ts) AS task,
        arg_max(proc, ts) AS proc,
        min(ts) AS start_ns,
        CASE WHEN NOT bool_or(open) THEN max(ended) END AS end_ns,
        bool_or(open) AS open,
        max(step) AS step,
        arg_max(coalesce(reason, status), ended) FILTER (status IN ('error', 'timeout', 'cancelled')) AS error,
        min(TRY_CAST(number[1] AS BIGINT)) AS submitted_ns,
        arg_max(TRY_CAST(number[2] AS DOUBLE), ts) AS weights,
        arg_max(TRY_CAST(number[3] AS DOUBLE), ts) AS reward,
        arg_max(TRY_CAST(number[4] AS DOUBLE), ts) AS tokens,
        arg_max(TRY_CAST(number[5] AS DOUBLE), ts) AS turns,
        arg_max(TRY_CAST(number[6] AS DOUBLE), ts) AS staleness
    FROM session_span
    GROUP BY session
),
session_word AS (
    SELECT
        fact_tag.value AS session,
        -- Two words at the same moment: of one process the later, of two either, but always the same.
        (fact.ts, proc, seq) AS moment,
        {'status': fact.attrs ->> 'status', 'reason': fact.reason, 'task': fact.tags ->> 'task', 'ts': fact.ts} AS word,
        fact.attrs ->> ['weights', 'reward', 'tokens', 'turns', 'staleness'] AS number
    FROM fact_tag JOIN fact USING (proc, seq)
    WHERE fact_tag.run = $run AND fact_tag.name = 'session.sample.finished' AND fact_tag.tag = 'session'
        AND fact_tag.value IN (FROM session_id) AND fact.run = $run AND fact.name = 'session.sample.finished'
),
session_said AS (
    SELECT
        session,
        arg_max(word, moment) AS word,
        arg_max(TRY_CAST(number[1] AS DOUBLE), moment) AS weights,
        arg_max(TRY_CAST(number[2] AS DOUBLE), moment) AS reward,
        arg_max(TRY_CAST(number[3] AS DOUBLE), moment) AS tokens,
        arg_max(TRY_CAST(number[4] AS DOUBLE), moment) AS turns,
        arg_max(TRY_CAST(number[5] AS DOUBLE), moment) AS staleness
    FROM session_word
    GROUP BY session
),
session_who AS MATERIALIZED (
    SELECT
        session, coalesce(session_known.task, word.task) AS task, proc, start_ns, end_ns, coalesce(open, false) AS open,
        step, error, submitted_ns, word,
        coalesce(session_said.weights, session_known.weights) AS weights,
        coalesce(session_said.reward, session_known.reward) AS reward,
        coalesce(session_said.tokens, session_known.tokens) AS tokens,
        coalesce(session_said.turns, session_known.turns) AS turns,
        coalesce(session_said.staleness, session_known.staleness) AS staleness
    FROM session_id
    LEFT JOIN session_known USING (session)
    LEFT JOIN session_said USING (session)
),
task_said AS (
    SELECT fact_tag.value AS task, arg_max({'status': attrs ->> 'status', 'reason': reason, 'ts': fact.ts}, (fact.ts, proc, seq)) AS word
    FROM fact_tag JOIN fact USING (proc, seq)
    WHERE fact_tag.run = $run AND fact_tag.name = 'task.item.finished' AND fact_tag.tag = 'task'
        AND fact_tag.value IN (SELECT task FROM session_who) AND fact.run = $run AND fact.name = 'task.item.finished'
    GROUP BY fact_tag.value
),
wanted_piece AS (SELECT task AS value FROM session_who UNION SELECT session FROM session_who),
-- include trained
session_trained AS (
    SELECT session, max(step) AS step, max(ts) AS ts
    FROM (
        SELECT session_who.session, trained.step, trained.ts
        FROM session_who JOIN trained ON trained.tag = 'task' AND trained.value = session_who.task
        UNION ALL
        SELECT session_who.session, trained.step, trained.ts
        FROM session_who JOIN trained ON trained.tag = 'session' AND trained.value = session_who.session
    )
    GROUP BY session
),
session_version AS (
    -- Which weights were the newest when its batch was taken? Both kinds of event in one order of time.
    SELECT session, version, told
    FROM (
        SELECT
            session,
            max(version) OVER (ORDER BY ts, session NULLS FIRST) AS version,
            max(version) OVER () IS NOT NULL AS told
        FROM (
            SELECT NULL AS session, ts, TRY_CAST(value AS BIGINT) AS version
            FROM fact_tag WHERE run = $run AND tag = 'weights' AND name LIKE 'weights.%'
            UNION ALL
            SELECT session, ts, NULL FROM session_trained
        )
    )
    WHERE session IS NOT NULL
),
session_stage AS (
    SELECT session, arg_max(name, (ts, seq)) AS stage, max(ts) AS ts
    FROM open_span WHERE run = $run AND part = 'phase' AND session IS NOT NULL
    GROUP BY session
),
-- include worker
session_head AS MATERIALIZED (
    SELECT
        session, task, proc, worker.worker, start_ns, end_ns, submitted_ns, open, error, session_who.step,
        -- Of a task that was given up, those are trained whose own word does not say otherwise.
        CASE WHEN coalesce(session_who.word.status, 'accepted') = 'accepted' THEN session_trained.step END AS trained_step,
        open AND coalesce(worker.lost, false) AS lost,
        coalesce(
            session_who.word.status, task_said.word.status,
            CASE WHEN NOT open THEN 'pending' WHEN worker.lost THEN 'lost' ELSE 'running' END
        ) AS status,
        CASE WHEN session_who.word.status IS NULL THEN task_said.word.reason ELSE session_who.word.reason END AS reason,
        coalesce(session_who.word.ts, task_said.word.ts) AS said_ns,
        CASE WHEN open THEN session_stage.stage END AS stage,
        CASE WHEN open THEN ($at - session_stage.ts) / 1e9 END AS stage_s,
        ($at - start_ns) / 1e9 AS age_s,
        (coalesce(end_ns, $at) - start_ns) / 1e9 AS total_s,
        weights, reward, tokens, turns,
        coalesce(
            staleness,
            -- Weights that nobody had replaced by then were the newest.
            CASE WHEN trained_step IS NOT NULL AND told THEN greatest(0, coalesce(version, weights) - weights) END
        ) AS staleness
    FROM session_who
    LEFT JOIN task_said USING (task)
    LEFT JOIN session_trained USING (session)
    LEFT JOIN session_version USING (session)
    LEFT JOIN session_stage USING (session)
    LEFT JOIN worker USING (proc)
)
