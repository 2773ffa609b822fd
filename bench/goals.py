"""The figures we hold ourselves to, by the name of their row. docs/benchmarks.md says where they come from."""

from __future__ import annotations

from typing import NamedTuple


class Goal(NamedTuple):
    """At most `limit`, in the row's unit; or at least."""

    limit: float
    at_least: bool = False


GOALS: dict[str, Goal] = {
    "gauge": Goal(700),
    "count": Goal(700),
    "sample": Goal(700),
    "span": Goal(1700),
    "nested span": Goal(1700),
    "state": Goal(1700),
    "phase": Goal(2200),
    "disabled gauge": Goal(250),
    "disabled span": Goal(250),
    "producer CPU, spans": Goal(4),
    "collector CPU": Goal(3),
    "events stored and queryable": Goal(250_000, at_least=True),
    "import": Goal(40),
    "GET timeline, a window, 1 M spans": Goal(150),
    "GET timeline statistics, names, 1 M spans": Goal(150),
    "GET timeline statistics, lanes, 1 M spans": Goal(150),
    "GET flows, 1 M spans": Goal(150),
    "frames while panning, 1 M spans": Goal(30, at_least=True),
    "frames while scrolling, 1 M spans": Goal(30, at_least=True),
    "recording overhead on the demo": Goal(1),
}
