-- Which tasks and sessions went into the steps $from_step to $to_step? See `trained`.
batch_fact AS MATERIALIZED (
    SELECT proc, seq
    FROM fact
    WHERE run = $run
        AND (name LIKE 'train.%' OR name LIKE '%.taken' AND json_exists(tags, '$.batch'))
        AND coalesce(TRY_CAST(tags ->> 'step' AS BIGINT), step) BETWEEN $from_step AND $to_step
),
trained_in_steps AS MATERIALIZED (
    SELECT tag, value
    FROM fact_tag JOIN batch_fact USING (proc, seq)
    WHERE run = $run AND tag IN ('task', 'session') AND (name LIKE 'train.%' OR name LIKE '%.taken')
)
