"""What the page waits for: an answer of each kind over HTTP, of a run of a million spans and of one of ten million."""

from __future__ import annotations

import http.client
import json
import math
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from bench.row import Plan, Row
from bench.server import Collector
from bench.synthetic import EPOCH, RUN, SESSIONS_PER_STEP, SPANS_PER_STEP, build

SIZES = {"1 M": 1_000_000, "10 M": 10_000_000}
QUICK_SIZES = {"1 M": 5_000, "10 M": 15_000}
# Kinds that answer slowly are asked fewer times, but never fewer than this.
LEAST = 5
SECONDS_A_KIND = 10.0
LANES = 40  # about as many as a screen shows; the page asks for lanes in tens
PX = 1000


class Shown(NamedTuple):
    """A run, as far as one has to know it to ask about it."""

    first: float
    last: float
    steps: int
    lanes: list[str]
    rng: random.Random


class Asked(NamedTuple):
    """The answers to one kind of question."""

    ms: list[float]
    largest: list[int]


Ask = Callable[[Shown], str]


def of_run(what: str, **parameters: Any) -> str:
    """A path below the run."""
    return f"/api/v1/runs/{RUN}/{what}" + (f"?{urlencode(parameters)}" if parameters else "")


def window(run: Shown) -> str:
    """A stretch of the run, from all of it to a thousandth, and a quarter more on both sides, as the page asks."""
    whole = run.last - run.first
    length = whole * 10 ** run.rng.uniform(-3, 0)
    start = run.first + run.rng.uniform(0, whole - length)
    return of_timeline(run, start - length / 4, start + length * 1.25)


def of_timeline(run: Shown, start: float, end: float) -> str:
    """The intervals of a screenful of lanes."""
    at = run.rng.randrange(0, max(1, len(run.lanes) - LANES), 10)
    return of_run("timeline", **{"from": start, "to": end, "px": PX, "lanes": ",".join(run.lanes[at : at + LANES])})


def some_session(run: Shown) -> str:
    """One of the sessions that have ended."""
    number = run.rng.randrange(run.steps * SESSIONS_PER_STEP)
    return of_run(f"sessions/task-{number // 8}.{number % 8}")


# One kind of request for each thing that a view shows, with the parameters that the page gives it.
KINDS: dict[str, Ask] = {
    "runs": lambda run: "/api/v1/runs",
    "overview": lambda run: of_run("overview"),
    "live": lambda run: of_run("live", limit=50),
    "timeline, a window": window,
    "timeline, whole run": lambda run: of_timeline(run, run.first, run.last),
    "timeline lanes": lambda run: of_run("timeline/lanes"),
    "timeline summary": lambda run: of_run("timeline/summary", buckets=250),
    "timeline statistics, names": lambda run: of_run("timeline/statistics", of="names"),
    "timeline statistics, lanes": lambda run: of_run("timeline/statistics", of="lanes"),
    "flows": lambda run: of_run("flows", px=1000),
    "rollouts, steps": lambda run: of_run("steps", last=200),
    "rollouts, a step": lambda run: of_run(f"steps/{run.rng.randrange(run.steps)}"),
    "sessions": lambda run: of_run("sessions", sort="-start", offset=0, limit=200),
    "session": some_session,
    "hotspots, last step": lambda run: of_run("hotspots", scope="step", by="name", limit=500),
    "hotspots, whole run": lambda run: of_run("hotspots", scope="all", by="name", limit=500),
    "flame, last step": lambda run: of_run("flame", scope="step", nodes=2000),
    "flame, whole run": lambda run: of_run("flame", scope="all", nodes=2000),
    "flow": lambda run: of_run("flow", buckets=240),
    "metrics": lambda run: of_run("metrics"),
    "metric by step": lambda run: of_run("metrics/tool_latency_seconds", by="step", points=600),
    "metric by time, a series a label": lambda run: of_run(
        "metrics/tool_latency_seconds", by="time", group="tool", points=600
    ),
    "fleet": lambda run: of_run("fleet"),
    "facts": lambda run: of_run("facts", sort="-at", limit=500, offset=0),
    "fact names": lambda run: of_run("facts/names"),
    "health": lambda run: "/api/v1/health",
}


def api(plan: Plan) -> list[Row]:
    """The median of the answers' times, with the best and the 95th percentile beside it."""
    rows = []
    folder = Path(tempfile.mkdtemp(prefix="rl-insight-bench-"))
    try:
        for size, spans in (QUICK_SIZES if plan.quick else SIZES).items():
            data_dir = folder / size.replace(" ", "")
            made = build(data_dir, spans)
            with Collector(data_dir) as server:
                asked = ask_all(server.url, made // SPANS_PER_STEP, plan.pick(25, 2))
            shutil.rmtree(data_dir)
            rows += [row(kind, size, answers) for kind, answers in asked.items()]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rows


def row(kind: str, size: str, answers: Asked) -> Row:
    """A row of one kind at one size."""
    ordered = sorted(answers.ms)
    return Row(
        bench="api",
        name=f"GET {kind}, {size} spans",
        unit="ms",
        value=statistics.median(ordered),
        low=ordered[0],
        high=ordered[math.ceil(0.95 * len(ordered)) - 1],
        note=f"{len(ordered)} answers, the largest {max(answers.largest) / 1000:,.0f} kB",
    )


def ask_all(url: str, steps: int, rounds: int) -> dict[str, Asked]:
    """Ask every kind once a round, one at a time over one connection. The first round is not counted."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=300)
    try:
        found = json.loads(get(connection, of_run("timeline/lanes")))["lanes"]
        lanes = [f"{quote(lane['proc'], safe='')}~{quote(lane['lane'], safe='')}" for lane in found]
        run = Shown(EPOCH / 1e6, EPOCH / 1e6 + steps * 1e3, steps, lanes, random.Random(4))
        asked = {kind: Asked([], []) for kind in KINDS}
        for count in range(rounds + 1):
            for kind, ask in KINDS.items():
                taken = asked[kind].ms
                if len(taken) >= LEAST and sum(taken) > SECONDS_A_KIND * 1e3:
                    continue
                path = ask(run)
                started = time.perf_counter()
                body = get(connection, path)
                if count:
                    taken.append((time.perf_counter() - started) * 1e3)
                    asked[kind].largest.append(len(body))
        return asked
    finally:
        connection.close()


def get(connection: http.client.HTTPConnection, path: str) -> bytes:
    """An answer; anything but success is an error."""
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise RuntimeError(f"{path} answered {response.status}: {body[:200]!r}")
    return body
