"""Which run is meant, and as of when: the first thing every read model of one run asks."""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec

from rl_insight.read.compose import structs
from rl_insight.read.rows import Rows

LATEST = "latest"


class NoSuchRun(LookupError):
    """There is no run of that name."""


class About(msgspec.Struct):
    """A run and the moment it is looked at: now while it is live, else the last moment it was heard from."""

    run: str
    project: str | None
    experiment: str | None
    state: Literal["live", "finished", "lost"]
    first_ts: int
    last_ts: int
    processes: int
    live_processes: int
    lost_processes: int
    lines: int
    now: int
    at: int

    @property
    def params(self) -> dict[str, Any]:
        """What the questions about a run need to know."""
        return {"run": self.run, "at": self.at, "now": self.now}

    @property
    def at_ms(self) -> float:
        """`at` in epoch milliseconds."""
        return self.at / 1e6


def about(source: Rows, run: str = LATEST, now: int | None = None) -> About:
    """Find a run by its id; `latest` is the one heard from last. Raises `NoSuchRun`."""
    now = time.time_ns() if now is None else now
    found = structs(source, "about", About, {"run": run, "now": now})
    if not found:
        raise NoSuchRun("nothing is recorded here yet" if run == LATEST else f"there is no run {run!r}")
    return found[0]
