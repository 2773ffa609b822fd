"""How are the recorders?"""

from __future__ import annotations

import time

import msgspec

from rl_insight.read.rows import Rows, answers


class Health(msgspec.Struct):
    """All processes of a store at a glance. `clock_offset` is the largest, in ns, and `clock_host` whose it is."""

    processes: int
    finished: int
    live: int
    lost: int
    last_ts: int | None
    clock_offset: int | None
    clock_host: str | None
    schemas: list[str | None]
    versions: list[str | None]


def health(source: Rows, now: int | None = None) -> Health:
    """Who records, who has gone silent, and whose clock is off."""
    (answer,) = answers(source, "health", Health, {"now": time.time_ns() if now is None else now})
    return answer
