-- Which weights has each process got, of the newest that anyone has sent?
WITH
-- include worker
version AS (
    SELECT proc, split_part(name, '.', 3) AS verb, max(TRY_CAST(value AS BIGINT)) AS version
    FROM fact_tag
    WHERE run = $run AND tag = 'weights' AND name LIKE 'weights.%'
    GROUP BY ALL
),
sent AS (SELECT max(version) AS version FROM version WHERE verb IN ('sent', 'started', 'finished', 'put')),
got AS (
    SELECT
        proc, max(version) FILTER (verb = 'received') AS received,
        max(version) FILTER (verb = 'applied') AS applied
    FROM version
    WHERE verb IN ('received', 'applied')
    GROUP BY proc
)
SELECT
    worker, proc, sent.version AS sent, received, applied,
    sent.version - coalesce(applied, received, 0) AS behind
FROM got LEFT JOIN worker USING (proc), sent
ORDER BY behind DESC NULLS LAST, worker;
