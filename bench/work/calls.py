"""Times every recording call from the caller's side: `python -m bench.work.calls on|off REPEATS BLOCKS CALLS`.

Recording is on with its threads running: a memory sink takes the lines, the sender wakes at its usual interval and
drains the buffer, and the garbage collector is on, all as in a training process. Before each block the buffer is
given time to fall below a few blocks' worth, so that none is dropped.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import rl_insight as insight
from bench import floors
from bench.timing import time_calls


def gauge(calls: int) -> None:
    for _ in range(calls):
        insight.metric_gauge("loss", 0.25)


def gauge_with_label(calls: int) -> None:
    for _ in range(calls):
        insight.metric_gauge("loss", 0.25, worker="trainer-0")


def count(calls: int) -> None:
    for _ in range(calls):
        insight.metric_count("steps")


def sample(calls: int) -> None:
    for _ in range(calls):
        insight.metric_distribution("latency", 0.25)


def span(calls: int) -> None:
    for _ in range(calls):
        with insight.trace_span("generate"):
            pass


def nested_span(calls: int) -> None:
    with insight.trace_span("outer"):
        for _ in range(calls):
            with insight.trace_span("generate"):
                pass


def span_with_attributes(calls: int) -> None:
    for _ in range(calls):
        with insight.trace_span("generate", attributes={"tokens": 512, "engine": "engine-0"}):
            pass


def state(calls: int) -> None:
    for _ in range(calls):
        with insight.trace_state("rollout", state_lane_id="engine-0"):
            pass


@insight.trace_op("update")
def update() -> None:
    """A decorated function."""


def op(calls: int) -> None:
    for _ in range(calls):
        update()


def fact(calls: int) -> None:
    for _ in range(calls):
        insight.fact("rollout.sample.finished", {"task": "task-1", "session": "session-1"})


def log(calls: int) -> None:
    for _ in range(calls):
        insight.log("info", "step done", tokens=512)


def phase(calls: int) -> None:
    with insight.session("session-1"):
        for _ in range(calls):
            with insight.phase("generate"):
                pass


def session(calls: int) -> None:
    with insight.task("task-1"):
        for _ in range(calls):
            with insight.session("session-1") as one:
                one.finish("accepted", reward=1.0)


RECORDING: dict[str, Callable[[int], None]] = {
    "gauge": gauge,
    "gauge with a label": gauge_with_label,
    "count": count,
    "sample": sample,
    "span": span,
    "nested span": nested_span,
    "span with attributes": span_with_attributes,
    "state": state,
    "op": op,
    "fact": fact,
    "log": log,
    "phase": phase,
    "session": session,
}
DISABLED: dict[str, Callable[[int], None]] = {"disabled gauge": gauge, "disabled span": span}


def main() -> None:
    on = sys.argv[1] == "on"
    repeats, blocks, calls = map(int, sys.argv[2:5])
    kept: list[bytes] = []
    if on:
        insight.init(project="bench", config={"ship": {"sink": "memory"}})
        from rl_insight.ship.lifecycle import shipment

        running = shipment()
        assert running is not None
        kept = running.sink.bodies  # type: ignore[attr-defined]

    def wait_for_the_sender() -> None:
        while insight.status().buffered > 5 * calls:
            time.sleep(0.002)
        kept.clear()

    found = time_calls(
        {**floors.LOOPS, **(RECORDING if on else DISABLED)},
        repeats=repeats,
        blocks=blocks,
        calls=calls,
        before_block=wait_for_the_sender,
    )
    insight.flush(30)
    lost = insight.status().lost
    insight.close()
    if lost:
        raise SystemExit(f"{lost} records were dropped: the figures would be those of a full buffer")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
