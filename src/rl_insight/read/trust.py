"""Can I trust what I see? What came, what is missing, and how far behind the store is."""

from __future__ import annotations

import msgspec

from rl_insight.read.health import Health, health
from rl_insight.read.rows import Rows, answers


class Loss(msgspec.Struct):
    """Lines that are known to be missing."""

    what: str
    run: str | None
    proc: str | None
    lines: int
    detail: str


class Size(msgspec.Struct):
    """What of one kind is stored."""

    kind: str
    rows: int
    names: int


class Cardinality(msgspec.Struct):
    """A metric and about how many series it has."""

    run: str
    name: str
    series: int


class Trust(msgspec.Struct):
    """Processes, losses, sizes and the widest metrics of a store."""

    processes: Health
    losses: list[Loss]
    sizes: list[Size]
    cardinality: list[Cardinality]


def trust(source: Rows) -> Trust:
    """What a store knows of itself, cheap enough to ask every few seconds."""
    return Trust(
        health(source),
        answers(source, "losses", Loss),
        answers(source, "sizes", Size),
        answers(source, "series_count", Cardinality),
    )
