"""A Ray job that records: calls timed in its driver, then two workers and the collector actor at full load.

`python -m bench.work.ray_job EVENTS REPEATS BLOCKS CALLS`. Everything runs on a Ray of its own on this machine, as
the rows of RL-Insight 0.3 do.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
import urllib.request
from typing import Any

import psutil
import ray

import rl_insight as insight
from bench.timing import time_calls
from bench.work.calls import gauge, span, state
from bench.work.workload import ROWS, mix

PRODUCERS = 2
BLOCK = 2000
MOST_WAITING = 60_000
STORED_SECONDS = 300.0


@ray.remote(num_cpus=0)
class Producer:
    """A worker that records. It paces itself, so that nothing has to be dropped."""

    def __init__(self) -> None:
        insight.init()
        insight.flush(30)

    def record(self, events: int) -> dict[str, Any]:
        cpu, start = time.process_time(), time.monotonic_ns()
        for first in range(0, events, BLOCK):
            mix(min(BLOCK, events - first), first)
            while insight.status().buffered > MOST_WAITING:
                time.sleep(0.002)
        delivered = insight.flush(STORED_SECONDS)
        status = insight.status()
        return {
            "cpu": time.process_time() - cpu,
            "start": start,
            "whole": delivered and not (status.lost or status.problems or status.spooled_bytes),
        }


class Collector:
    """The collector actor, as a process and as a server."""

    def __init__(self) -> None:
        name = f"rl_insight_collector_{insight.status().run}"
        where = ray.get(ray.get_actor(name, namespace="rl_insight_monitor").where.remote())
        self._url = where["url"]
        self._process = psutil.Process(where["pid"])

    def cpu(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def wait_for(self, wanted: dict[str, int]) -> None:
        """Return when a query finds exactly these rows."""
        sql = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in wanted)
        deadline = time.monotonic() + STORED_SECONDS
        while (found := self._rows(sql)) != [*wanted.values()]:
            if time.monotonic() > deadline:
                raise SystemExit(f"the store has {found}, and should have {wanted}")
            time.sleep(0.02)

    def _rows(self, sql: str) -> list[int]:
        request = urllib.request.Request(f"{self._url}/api/v1/query", json.dumps({"sql": sql}).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: list[int] = json.load(answer)["rows"][0]
            return found


def calls(repeats: int, blocks: int, count: int) -> dict[str, Any]:
    """What a call costs the driver."""

    def wait_for_the_sender() -> None:
        while insight.status().buffered > 5 * count:
            time.sleep(0.002)

    loops = {"gauge": gauge, "span": span, "state": state}
    return {
        name: tuple(timing)
        for name, timing in time_calls(
            loops, repeats=repeats, blocks=blocks, calls=count, before_block=wait_for_the_sender
        ).items()
    }


def load(events: int) -> dict[str, float]:
    """Two workers and the collector, from the first call until a query sees every row."""
    collector = Collector()
    producers = [Producer.remote() for _ in range(PRODUCERS)]  # type: ignore[attr-defined]
    ray.get([producer.record.remote(10) for producer in producers])
    cpu = collector.cpu()
    results = ray.get([producer.record.remote(events // PRODUCERS) for producer in producers])
    if not all(result["whole"] for result in results):
        raise SystemExit("a worker did not deliver everything, so the figure would be wrong")
    recorded = events + 10 * PRODUCERS
    collector.wait_for({table: round(share * recorded) for table, share in ROWS["mix"].items()})
    end = time.monotonic_ns()
    return {
        "events per second": events / ((end - min(result["start"] for result in results)) / 1e9),
        "collector CPU": (collector.cpu() - cpu) / events * 1e6,
        "producer CPU": sum(result["cpu"] for result in results) / events * 1e6,
    }


def main() -> None:
    events, repeats, blocks, count = map(int, sys.argv[1:5])
    with tempfile.TemporaryDirectory(prefix="rl-insight-bench-") as home, contextlib.redirect_stdout(sys.stderr):
        os.environ |= {"HOME": home, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        insight.init(project="bench", config={"ray": {"samplers": False, "start_timeout": 60}})
        # The load first: its rows are counted, and the calls below make more of them.
        found = {"load": load(events), "calls": calls(repeats, blocks, count)}
        insight.flush(60)
        lost = insight.status().lost
        insight.close()
        ray.shutdown()
    if lost:
        raise SystemExit(f"{lost} records were dropped: the figures would be those of a full buffer")
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
