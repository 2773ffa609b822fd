-- How did reward and loss move, step by step? Of the names people use for them, the first that is there.
WITH
common(curve, rank, name) AS (
    VALUES
        ('reward', 1, 'reward_mean'), ('reward', 2, 'critic/rewards/mean'), ('reward', 3, 'critic/score/mean'),
        ('reward', 4, 'reward/mean'), ('reward', 5, 'rewards/mean'), ('reward', 6, 'reward'), ('reward', 7, 'score'),
        ('loss', 1, 'loss'), ('loss', 2, 'actor/pg_loss'), ('loss', 3, 'actor/loss'), ('loss', 4, 'policy_loss'),
        ('loss', 5, 'train/loss'), ('loss', 6, 'pg_loss')
),
there AS (
    SELECT curve, arg_min(common.name, rank) AS name
    FROM common
    WHERE EXISTS (FROM point WHERE point.run = $run AND point.name = common.name AND step IS NOT NULL)
    GROUP BY curve
),
stepped AS (
    SELECT curve, name, step, avg(value) AS value
    FROM point JOIN there USING (name)
    WHERE point.run = $run AND step IS NOT NULL
    GROUP BY ALL
),
thinned AS (
    SELECT curve, name, step, value, row_number() OVER (PARTITION BY curve ORDER BY step DESC) AS newest,
        count(*) OVER (PARTITION BY curve) AS steps
    FROM stepped
)
SELECT curve, any_value(name) AS name, list([step, value] ORDER BY step) AS points
FROM thinned
WHERE (newest - 1) % ceil(steps / 1000)::BIGINT = 0
GROUP BY curve;
