"""prometheus_client: values set in place, with and without a label looked up at each call as ours is."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from bench.timing import time_calls


def main() -> None:
    quick = sys.argv[1] == "quick"
    registry = CollectorRegistry()
    loss = Gauge("loss", "A loss", registry=registry)
    tokens = Gauge("tokens", "Tokens", ["worker"], registry=registry)
    steps = Counter("steps", "Steps", registry=registry)
    latency = Histogram("latency", "A latency", registry=registry)

    def gauge(calls: int) -> None:
        for _ in range(calls):
            loss.set(0.25)

    def labelled(calls: int) -> None:
        for _ in range(calls):
            tokens.labels(worker="trainer-0").set(0.25)

    def count(calls: int) -> None:
        for _ in range(calls):
            steps.inc()

    def sample(calls: int) -> None:
        for _ in range(calls):
            latency.observe(0.25)

    found = time_calls(
        {"gauge": gauge, "gauge with a label": labelled, "count": count, "sample": sample},
        repeats=2 if quick else 9,
        blocks=2 if quick else 25,
        calls=200 if quick else 2000,
    )
    about = f"prometheus_client {version('prometheus-client')}; keeps the last value only, no event, no time"
    print(json.dumps({"about": about, "rows": {name: timing.value for name, timing in found.items()}}))


if __name__ == "__main__":
    main()
