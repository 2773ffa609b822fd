"""Imports, begins and records once in a fresh interpreter, and says how long that took and what it loaded."""

import os
import sys
import time

start = time.process_time()
import rl_insight as insight  # noqa: E402  # the import is what is timed

# Nobody listens there: starting must not wait for a server.
insight.init(project="bench", config={"server": {"url": "http://127.0.0.1:9"}, "ship": {"spool_bytes": 0}})
insight.metric_gauge("loss", 0.25)
taken = (time.process_time() - start) * 1e3

import json  # noqa: E402  # not part of what is timed

HEAVY = ("duckdb", "starlette", "uvicorn", "ray", "opentelemetry", "omegaconf", "psutil", "typer", "rich")
print(json.dumps({"cpu": taken, "heavy": [name for name in HEAVY if name in sys.modules]}), flush=True)
os._exit(0)
