-- Which phase counts as which stage of a session? By the first word of its name; any other name is a stage of its own.
phase_class(word, stage) AS (
    VALUES
        ('queue', 'queue'), ('queued', 'queue'), ('queueing', 'queue'), ('pending', 'queue'), ('waiting', 'queue'),
        ('generate', 'generate'), ('generation', 'generate'), ('gen', 'generate'), ('rollout', 'generate'),
        ('prefill', 'generate'), ('decode', 'generate'), ('infer', 'generate'), ('inference', 'generate'),
        ('tool', 'tool'), ('tools', 'tool'), ('tool_call', 'tool'), ('tool_calls', 'tool'), ('env', 'tool'),
        ('environment', 'tool'), ('env_step', 'tool'), ('sandbox', 'tool'),
        ('reward', 'reward'), ('score', 'reward'), ('scoring', 'reward'), ('verify', 'reward'), ('judge', 'reward'),
        ('grade', 'reward')
)
