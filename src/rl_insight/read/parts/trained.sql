-- Which of the tasks and sessions in `wanted_piece` went into which step? What is taken for a batch, or trained, is tagged
-- with its task or session; the step is the fact's own tag, else that of the process which recorded it.
trained AS MATERIALIZED (
    SELECT piece.tag, piece.value, coalesce(TRY_CAST(fact.tags ->> 'step' AS BIGINT), fact.step) AS step, fact.ts
    FROM fact_tag AS piece JOIN fact USING (proc, seq)
    WHERE piece.run = $run AND piece.tag IN ('task', 'session')
        AND (piece.name LIKE 'train.%' OR piece.name LIKE '%.taken')
        AND piece.value IN (SELECT value FROM wanted_piece)
        AND fact.run = $run
        AND (fact.name LIKE 'train.%' OR fact.name LIKE '%.taken' AND json_exists(fact.tags, '$.batch'))
)
