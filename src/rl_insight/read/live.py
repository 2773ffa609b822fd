"""What is a run doing right now?"""

from __future__ import annotations

import time

import msgspec

from rl_insight.read.rows import Rows, answers


class Point(msgspec.Struct):
    """A metric's value at a step."""

    step: int
    value: float | None


class Lane(msgspec.Struct):
    """What a lane is doing since when; `running` is False when that is over and nothing newer is known."""

    lane: str | None
    state: str
    since: int
    running: bool


class OpenSession(msgspec.Struct):
    """A session under way, and the phase it is in as far as that is known."""

    session: str | None
    task: str | None
    since: int
    phase: str | None
    phase_since: int | None
    tool: str | None
    role: str | None
    rank: int | None


class Rate(msgspec.Struct):
    """How fast a counter moves."""

    name: str
    per_second: float


def series(source: Rows, run: str, name: str) -> list[Point]:
    """A metric, step by step."""
    return answers(source, "series", Point, {"run": run, "name": name})


def lanes(source: Rows, run: str, now: int | None = None) -> list[Lane]:
    """What every lane is doing."""
    return answers(source, "lanes", Lane, {"run": run, "now": time.time_ns() if now is None else now})


def open_sessions(source: Rows, run: str) -> list[OpenSession]:
    """Sessions under way, the oldest first."""
    return answers(source, "open_sessions", OpenSession, {"run": run})


def rates(source: Rows, run: str, seconds: float = 5.0, now: int | None = None) -> list[Rate]:
    """How fast the counters of a run move."""
    moment = time.time_ns() if now is None else now
    return answers(source, "rates", Rate, {"run": run, "seconds": seconds, "now": moment})
