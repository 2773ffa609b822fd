"""A recording process: says `ready`, waits for a line, records, delivers, and says what it took.

`python -m bench.work.producer KIND EVENTS URL|DIR`. It paces itself: while too many lines wait it records none, so
that nothing has to be dropped and memory stays as it is.
"""

from __future__ import annotations

import json
import sys
import time

import rl_insight as insight
from bench.work.workload import KINDS

BLOCK = 2000
MOST_WAITING = 60_000


def main() -> None:
    kind, events, where = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    ship = {"sink": "http"} if where.startswith("http") else {"sink": "file", "dir": where}
    config = {"ship": ship, "server": {"url": where if where.startswith("http") else ""}}
    insight.init(project="bench", run="bench", config=config)
    insight.flush(30)
    print("ready", flush=True)
    sys.stdin.readline()
    record = KINDS[kind]
    cpu, start = time.process_time(), time.monotonic_ns()
    for first in range(0, events, BLOCK):
        record(min(BLOCK, events - first), first)
        while insight.status().buffered > MOST_WAITING:
            time.sleep(0.002)
    recorded = time.monotonic_ns()
    delivered = insight.flush(300)
    cpu, end = time.process_time() - cpu, time.monotonic_ns()
    status = insight.status()
    insight.close()
    print(
        json.dumps(
            {
                "cpu": cpu,
                "start": start,
                "recorded": recorded,
                "end": end,
                "delivered": delivered,
                "lost": status.lost,
                "spooled": status.spooled_bytes,
                "error": status.last_error,
                "problems": status.problems,
            }
        )
    )


if __name__ == "__main__":
    main()
