"""Which runs are there, and how is each?"""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from rl_insight.read.rows import Rows, answers


class Run(msgspec.Struct):
    """A run and how it is."""

    run: str
    project: str | None
    experiment: str | None
    state: Literal["live", "finished", "lost"]
    first_ts: int | None
    last_ts: int | None
    processes: int
    live_processes: int
    lost_processes: int
    lines: int
    step: int | None


def runs(source: Rows, now: int | None = None) -> list[Run]:
    """All runs, the one heard from last first."""
    return answers(source, "runs", Run, {"now": time.time_ns() if now is None else now})
