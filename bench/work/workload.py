"""What the producers of the benchmarks record."""

from __future__ import annotations

from collections.abc import Callable

import rl_insight as insight


def gauges(events: int, first: int) -> None:
    for number in range(first, first + events):
        insight.metric_gauge("loss", number * 0.5)


def spans(events: int, first: int) -> None:
    for _ in range(events):
        with insight.trace_span("generate"):
            pass


def mix(events: int, first: int) -> None:
    """Of ten events four are spans, four gauges with a label, one a log and one a fact with two tags of its own."""
    for number in range(first, first + events, 10):
        with insight.trace_span("rollout"):
            with insight.trace_span("generate"):
                insight.metric_gauge("tokens", number * 0.5, worker="engine-0")
                insight.metric_gauge("queue", 7.0, worker="engine-0")
            with insight.trace_span("reward"):
                insight.metric_gauge("reward", 0.25, worker="engine-1")
            insight.log("info", "sample done", tokens=number)
            insight.fact("rollout.sample.finished", {"task": f"task-{number}", "session": f"session-{number}"})
        with insight.trace_span("update"):
            insight.metric_gauge("loss", number * 0.25, worker="trainer-0")


KINDS: dict[str, Callable[[int, int], None]] = {"gauges": gauges, "spans": spans, "mix": mix}

# How many rows of which table one event makes.
ROWS: dict[str, dict[str, float]] = {
    "gauges": {"point": 1.0},
    "spans": {"span": 1.0},
    "mix": {"span": 0.4, "point": 0.4, "log": 0.1, "fact": 0.1, "fact_tag": 0.2},
}
