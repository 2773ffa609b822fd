-- Which processes train? Those whose role says so; failing that, those with a state that does; failing that, all with states.
WITH named AS (
    SELECT proc FROM process WHERE run = $run AND regexp_matches(lower(role), '^(train|learn|optim)')
),
doing AS (
    SELECT proc, bool_or(regexp_matches(lower(name), '^(train|update|optim|learn|backward)')) AS trains
    FROM (
        SELECT DISTINCT proc, name FROM span
        WHERE run = $run AND part = 'state' AND NOT EXISTS (FROM named)
    )
    GROUP BY proc
)
SELECT proc FROM named
UNION
SELECT proc FROM doing WHERE trains OR NOT (SELECT bool_or(trains) FROM doing);
