"""A quiet process beside the pressed ones: its gauges tell how long an event takes to become visible.

`python -m bench.work.probe URL`. It says `ready`, records one gauge every 50 ms until its input ends, then leaves.
"""

from __future__ import annotations

import sys
import threading

import rl_insight as insight

EVERY_SECONDS = 0.05


def main() -> None:
    insight.init(project="bench", run="bench", config={"ship": {"sink": "http"}, "server": {"url": sys.argv[1]}})
    insight.flush(30)
    told = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), told.set()), daemon=True).start()
    print("ready", flush=True)
    while not told.wait(EVERY_SECONDS):
        insight.metric_gauge("probe", 1.0)
    insight.close()


if __name__ == "__main__":
    main()
