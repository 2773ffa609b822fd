"""Where the way from caller to store saturates, by processes and threads, and what happens beyond."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.child import ROOT, environment
from bench.row import Plan, Row
from bench.server import Collector

# Processes and threads that record as fast as they can, and rates offered by four processes of one thread.
SHAPES = [(1, 1), (1, 4), (2, 1), (4, 1), (4, 4), (8, 1), (16, 1)]
RATES = [10_000, 50_000, 100_000, 150_000]
LOOK_SECONDS = 0.05
RECENT_NS = 30_000_000_000


class Pressure(NamedTuple):
    """What became of a load: what was offered, kept and lost, and how long an event took to be visible."""

    offered: float
    stored: float
    recorded: int
    lost: int
    spooled: int
    drained: float
    p50_ms: float
    p95_ms: float
    most_ms: float


def saturation(plan: Plan) -> list[Row]:
    """One row of events a second and one of latency for every shape and rate; notes tell what was lost or waited."""
    seconds = float(plan.pick(6, 1))
    loads = [(f"{p} × {t} thread{'s' * (t > 1)}, as fast as it goes", p, t, 0.0) for p, t in SHAPES]
    loads += [(f"4 × 1 thread, {rate:,} events/s offered", 4, 1, float(rate)) for rate in RATES]
    rows: list[Row] = []
    for name, processes, threads, rate in loads if not plan.quick else loads[:1]:
        found = _press(processes, threads, seconds, rate)
        kept = f"{found.lost:,} of {found.recorded:,} dropped and counted"
        late = f"{found.spooled / 2**20:,.0f} MiB on disk at the end, gone {found.drained:.1f} s later"
        made = f"{found.offered:,.0f}/s made, {kept}; {late}"
        slow = f"p50; p95 {found.p95_ms:,.0f} ms; the range ends at the slowest"
        rows += [
            Row("load", f"{name}: stored", "events/s", found.stored, note=made),
            Row("load", f"{name}: visible after", "ms", found.p50_ms, found.p50_ms, found.most_ms, note=slow),
        ]
    return rows


def _press(processes: int, threads: int, seconds: float, rate: float) -> Pressure:
    with tempfile.TemporaryDirectory(prefix="rl-insight-bench-") as folder:
        data_dir = Path(folder) / "data"
        data_dir.mkdir()
        spool = Path(folder) / "spool"
        with Collector(data_dir) as collector, contextlib.ExitStack() as started:
            started.enter_context(_started(["bench.work.probe", collector.url], spool))
            each = [str(threads), str(seconds), str(rate / processes), collector.url]
            pressed = [started.enter_context(_started(["bench.work.pressed", *each], spool)) for _ in range(processes)]
            seen = _Seen(collector.url)
            with seen:
                start = time.monotonic()
                for one in pressed:
                    one.stdin.write("go\n")
                    one.stdin.flush()
                said = [json.loads(one.stdout.readline()) for one in pressed]
                kept = sum(one["recorded"] - one["lost"] for one in said)
                _wait_stored(collector)
                taken = time.monotonic() - start
            _check(collector, said)
        late = sorted(seen.late_ms)
        return Pressure(
            offered=sum(one["recorded"] / one["seconds"] for one in said),
            stored=kept / taken,
            recorded=sum(one["recorded"] for one in said),
            lost=sum(one["lost"] for one in said),
            spooled=sum(one["spooled"] for one in said),
            drained=max(one["drained"] for one in said),
            p50_ms=statistics.median(late),
            p95_ms=late[int(0.95 * (len(late) - 1))],
            most_ms=late[-1],
        )


@contextlib.contextmanager
def _started(command: list[str], spool: Path) -> Iterator[Any]:
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=environment(RL_INSIGHT_SPOOL_DIR=str(spool)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{command[0]} ended with {process.wait()} before it began")
        yield process
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=5)
        process.kill()
        process.wait()


def _wait_stored(collector: Collector) -> None:
    while collector.status()["store"]["lag_bytes"]:
        time.sleep(0.02)


def _check(collector: Collector, said: list[dict[str, Any]]) -> None:
    """Every event that was not counted as dropped has its row; else the figures would be worth nothing."""
    if not all(one["delivered"] for one in said):
        raise RuntimeError(f"not everything was delivered: {said}")
    rows = collector.count(["span", "log", "fact"])
    points = collector.count(["(SELECT 1 FROM point WHERE name != 'probe')"])
    kept = sum(one["recorded"] - one["lost"] for one in said)
    if (found := sum(rows.values()) + sum(points.values())) != kept:
        raise RuntimeError(f"{found} rows for {kept} events that were kept")


class _Seen:
    """How late the probe's gauges were when a query first saw them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.late_ms: list[float] = []

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        seen = 0
        while not self._stop.wait(LOOK_SECONDS):
            sql = (
                f"SELECT seq, ts FROM point WHERE ts > {time.time_ns() - RECENT_NS} AND name = 'probe' AND seq > {seen}"
            )
            body = json.dumps({"sql": sql}).encode()
            with urllib.request.urlopen(
                urllib.request.Request(f"{self._url}/api/v1/query", data=body), timeout=60
            ) as answer:
                rows = json.load(answer)["rows"]
            now = time.time_ns()
            self.late_ms += [(now - ts) / 1e6 for _, ts in rows]
            seen = max([seen, *(seq for seq, _ in rows)])
