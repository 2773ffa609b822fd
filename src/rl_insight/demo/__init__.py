"""A small real RL training run on CPU: asynchronous, multi-turn, with tools. `rl-insight demo` shows it.

Only `import rl_insight as insight` is used from the rest of the package, as in a training code of your own. Read
`worker.py` first: tasks, sessions, turns and phases; then `trainer.py`: metrics, spans and operations.
"""
