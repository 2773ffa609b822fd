"""One line of the table, and what a run of the benchmarks is asked for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bench.goals import GOALS


class Floor(msgspec.Struct, frozen=True):
    """The least that such work can cost here and now, measured in the same run."""

    name: str
    value: float


class Row(msgspec.Struct):
    """A measured figure. `low` and `high` are what else was seen; their meaning is the bench's own and documented.

    One that could not be measured here is `skipped`, and its note says why.
    """

    bench: str
    name: str
    unit: str
    value: float
    low: float | None = None
    high: float | None = None
    floor: Floor | None = None
    note: str = ""
    skipped: bool = False
    peers: dict[str, float] = {}
    series: dict[str, list[tuple[float, int]]] = {}

    @property
    def goal(self) -> float | None:
        """The figure that this row is held against."""
        found = GOALS.get(self.name)
        return found.limit if found else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        found = GOALS.get(self.name)
        if found is None or self.skipped:
            return None
        return self.value >= found.limit if found.at_least else self.value <= found.limit

    @property
    def times_floor(self) -> float | None:
        """How many times the floor it is."""
        return self.value / self.floor.value if self.floor and self.floor.value else None


class Plan(msgspec.Struct, frozen=True):
    """How much to measure. `quick` only shows that every bench works; its figures mean nothing."""

    quick: bool = False
    lines: int = 0

    def pick(self, full: int, quick: int) -> int:
        """A count for a full run or for a quick one."""
        return quick if self.quick else full


class Bench(msgspec.Struct, frozen=True):
    """A named function that measures some rows. Those not `by_default` run only when asked for by name."""

    name: str
    run: Callable[[Plan], list[Row]]
    by_default: bool = True
