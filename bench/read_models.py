"""What a read model takes on a run of a million spans and on one of ten million, and what recording costs the demo."""

from __future__ import annotations

import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from bench.child import ROOT, environment
from bench.row import Plan, Row
from bench.server import Collector
from bench.synthetic import EPOCH, build
from rl_insight.read.flame import flame
from rl_insight.read.flow import flow
from rl_insight.read.hotspots import examples, hotspots
from rl_insight.read.now import live
from rl_insight.read.overview import overview
from rl_insight.read.session import session
from rl_insight.read.sessions import sessions
from rl_insight.read.steps import anatomy, steps
from rl_insight.read.tasks import tasks
from rl_insight.store import Store

SIZES = {"1 M": 1_000_000, "10 M": 10_000_000}
QUICK_SIZES = {"1 M": 20_000, "10 M": 60_000}
STEP = 15  # there in every size

MODELS: dict[str, Callable[[Store, int], Any]] = {
    "sessions, newest": lambda store, now: sessions(store, now=now),
    "sessions, of a step": lambda store, now: sessions(store, step=STEP, now=now),
    "sessions, search": lambda store, now: sessions(store, q="status:rejected reward>0.5", now=now),
    "sessions, by tool time": lambda store, now: sessions(store, sort="tool", now=now),
    "session": lambda store, now: session(store, "task-100.3", now=now),
    "tasks": lambda store, now: tasks(store, now=now),
    "steps, newest 100": lambda store, now: steps(store, now=now),
    "step": lambda store, now: anatomy(store, STEP, now=now),
    "flow": lambda store, now: flow(store, now=now),
    "hotspots, step": lambda store, now: hotspots(store, now=now),
    "hotspots, all": lambda store, now: hotspots(store, scope="all", now=now),
    "hotspot examples, all": lambda store, now: examples(store, name="tool", scope="all", now=now),
    "flame, step": lambda store, now: flame(store, now=now),
    "flame, all": lambda store, now: flame(store, scope="all", now=now),
    "live": lambda store, now: live(store, now=now),
    "overview": lambda store, now: overview(store, now=now),
}


def read_models(plan: Plan) -> list[Row]:
    """The median of a few answers of each, and the slowest of 95 in 100. The larger run says how it has grown."""
    sizes = QUICK_SIZES if plan.quick else SIZES
    folder = Path(tempfile.mkdtemp(prefix="rl-insight-bench-"))
    try:
        taken: dict[str, dict[str, list[float]]] = {}
        for size, spans in sizes.items():
            made = build(folder / size.replace(" ", ""), spans)
            taken[size] = _ask_all(folder / size.replace(" ", ""), made, plan.pick(7, 2))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    small, large = taken.values()
    rows = []
    for name in MODELS:
        for size, figures in taken.items():
            ordered = sorted(figures[name])
            grown = statistics.median(large[name]) / statistics.median(small[name])
            rows.append(
                Row(
                    bench="read",
                    name=f"{name}, {size} spans",
                    unit="ms",
                    value=statistics.median(ordered),
                    low=ordered[0],
                    high=ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))],
                    note=f"{grown:.1f} times as long as with a tenth of the spans" if figures is large else "",
                )
            )
    return rows


def _ask_all(data_dir: Path, spans: int, repeats: int) -> dict[str, list[float]]:
    now = EPOCH + spans * 10**9
    store = Store.open(data_dir, read_only=True)
    taken: dict[str, list[float]] = {name: [] for name in MODELS}
    try:
        for repeat in range(repeats + 1):
            for name, ask in MODELS.items():
                started = time.perf_counter()
                ask(store, now)
                # The first round reads the file into memory.
                if repeat:
                    taken[name].append((time.perf_counter() - started) * 1e3)
    finally:
        store.close()
    return taken


# Pairs of runs, and Student's t for the two-sided 95 % of that many.
PAIRS, STUDENT_95 = 24, 2.069


def demo_overhead(plan: Plan) -> list[Row]:
    """The demo with recording on and off in turn, to a collector on the same machine: seconds a step once it trains.

    Equal runs differ by more than what is looked for, so the overhead is the mean difference between the two runs of
    a pair, and its range what that is with 95 % confidence. The figure is the upper end: only when all of the range is
    below the goal is the goal shown to be met.
    """
    pairs = plan.pick(PAIRS, 1)
    arguments = ["--steps", str(plan.pick(30, 10)), "--speed", str(plan.pick(1, 20)), "--workers", "2"]
    runs: dict[bool, list[Trained]] = {True: [], False: []}
    with tempfile.TemporaryDirectory(prefix="rl-insight-bench-") as folder:
        data_dir = Path(folder) / "data"
        data_dir.mkdir()
        with Collector(data_dir) as collector:
            for pair in range(pairs):
                for recorded in (True, False) if pair % 2 else (False, True):
                    runs[recorded].append(_demo(arguments, collector.url if recorded else None))
    rows = []
    for field, name, overhead in (
        ("wall_ms", "demo step, wall", "recording overhead on the demo"),
        ("cpu_ms", "demo step, CPU of all its processes", "recording overhead on the demo, CPU"),
    ):
        costs = {on: [getattr(run, field) for run in found] for on, found in runs.items()}
        off, on = statistics.median(costs[False]), statistics.median(costs[True])
        percents = [(with_it / without - 1) * 100 for with_it, without in zip(costs[True], costs[False], strict=True)]
        mean = statistics.fmean(percents)
        either_way = STUDENT_95 * statistics.stdev(percents) / math.sqrt(pairs) if pairs == PAIRS else 0.0
        rows += [
            Row("demo", f"{name}, recording off", "ms", off, min(costs[False]), max(costs[False])),
            Row("demo", f"{name}, recording on", "ms", on, min(costs[True]), max(costs[True])),
            Row(
                "demo",
                overhead,
                "%",
                mean + either_way,
                mean - either_way,
                mean + either_way,
                skipped=pairs != PAIRS,
                note=f"upper end of {mean:+.2f} ± {either_way:.2f} %, the mean of {pairs} pairs, 95 % sure",
            ),
        ]
    return rows


class Trained(NamedTuple):
    """What a step took, from the fifth on: by then all processes have started."""

    wall_ms: float
    cpu_ms: float


def _demo(arguments: list[str], url: str | None) -> Trained:
    settings = {"RL_INSIGHT_DISABLED": "1"} if url is None else {"RL_INSIGHT_SERVER_URL": url}
    seen: list[tuple[int, float, float]] = []
    with subprocess.Popen(
        [sys.executable, "-m", "rl_insight.demo", *arguments],
        cwd=ROOT,
        env={**environment(), "OPENBLAS_NUM_THREADS": "1", **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        whole = [psutil.Process(process.pid)]
        for line in process.stdout or ():
            if line.startswith("step "):
                whole = whole if len(whole) > 1 else [*whole, *whole[0].children(recursive=True)]
                seen.append((int(line.split()[1].partition("/")[0]), time.perf_counter(), _cpu(whole)))
    if process.returncode or len(seen) < 2:
        raise RuntimeError(f"the demo ended with {process.returncode} after {len(seen)} reports")
    (first, began, cpu_then), (last, ended, cpu_now) = seen[0], seen[-1]
    return Trained((ended - began) / (last - first) * 1e3, (cpu_now - cpu_then) / (last - first) * 1e3)


def _cpu(processes: list[psutil.Process]) -> float:
    used = [process.cpu_times() for process in processes if process.is_running()]
    return float(sum(times.user + times.system for times in used))
