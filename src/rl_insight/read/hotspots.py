"""Which stage costs most?"""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight.read.about import LATEST, about
from rl_insight.read.compose import records
from rl_insight.read.room import Room
from rl_insight.read.rows import Rows
from rl_insight.read.search import BadSearch
from rl_insight.read.selection import Chosen, Selection, Spans, choose, pooled

# Beyond so many spans, own times come from a sample of whole traces.
SAMPLED_ABOVE = 300_000
SORTS = ("self", "total", "count", "avg", "p50", "p95", "p99", "max", "errors")


class Example(msgspec.Struct):
    """The slowest of a stage."""

    id: str | None
    proc: str
    session: str | None
    task: str | None
    step: int | None
    start: float
    worker: str | None


class Stage(msgspec.Struct):
    """All intervals of one name and part. `share` is that of its own time among all of its kind."""

    name: str
    part: str
    by: str | None
    count: int
    total_s: float
    self_s: float
    avg_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float
    errors: int
    share: float
    slowest: Example


class Hotspots(msgspec.Struct):
    """The stages of a scope, the costliest first."""

    run: str
    at: float
    scope: Spans
    spans: int
    sampled: float
    stages: list[Stage]


class Slow(msgspec.Struct):
    """One interval."""

    id: str | None
    proc: str
    worker: str | None
    lane: str | None
    name: str
    part: str
    task: str | None
    session: str | None
    step: int | None
    start: float
    end: float
    s: float
    status: str | None
    reason: str | None
    attrs: dict[str, Any]


class Examples(msgspec.Struct):
    """The slowest intervals of a scope."""

    run: str
    at: float
    scope: Spans
    examples: list[Slow]


def hotspots(
    source: Rows,
    run: str = LATEST,
    *,
    by: str = "name",
    sort: str = "self",
    limit: int = 100,
    now: int | None = None,
    sampled_above: int = SAMPLED_ABOVE,
    **selection: Any,
) -> Hotspots:
    """Count, total, own time, average, percentiles, errors and share of every stage of a `Selection`."""
    if sort.lstrip("+-") not in SORTS:
        raise BadSearch(f"cannot sort stages by {sort!r}; there are {', '.join(SORTS)}")
    this = about(source, run, now)
    chosen = choose(source, this, Selection(**selection))
    fills, params = _told_apart(by, chosen)
    params |= this.params
    rows = records(source, "hotspots", params, fills)
    spans = sum(row["count"] for row in rows)
    sample = -(-spans // sampled_above) or 1
    own = _own_times(source, rows, {**params, "sample": sample}, fills)
    whole = {True: 0.0, False: 0.0}
    for row in rows:
        row["self_s"] = own(row)
        whole[row["part"] == "state"] += row["self_s"]
    for row in rows:
        together = whole[row["part"] == "state"]
        row["share"] = row["self_s"] / together if together else 0.0
    column = {"count": "count", "errors": "errors"}.get(sort.lstrip("+-"), f"{sort.lstrip('+-')}_s")
    rows.sort(key=lambda row: (row[column], row["total_s"]), reverse=not sort.startswith("+"))
    stages = [msgspec.convert(row, Stage) for row in rows[:limit]]
    return Hotspots(this.run, this.at_ms, chosen.spans, spans, 1 / sample, stages)


def _own_times(source: Rows, rows: list[dict[str, Any]], params: dict[str, Any], fills: dict[str, str]) -> Any:
    """A function from a row to its own time. A state has no children, so all of its time is its own."""
    found: dict[tuple[Any, ...], float] = {}
    inner = [row for row in rows if row["part"] != "state"]
    if inner:
        bounds = {
            "first_ns": min(row["first_ns"] for row in inner),
            "last_ns": max(row["last_ns"] for row in inner),
        }
        pool = pooled(params["sample"], ", attrs" if "attrs" in fills["by"] else "")
        for row in records(source, "self_times", {**params, **bounds}, {**pool, **fills}):
            key = (row["name"], row["part"], row["by"])
            found[key] = row["self_s"] / row["total_s"] if row["total_s"] else 0.0

    def own(row: dict[str, Any]) -> float:
        share = 1.0 if row["part"] == "state" else found.get((row["name"], row["part"], row["by"]), 1.0)
        return float(row["total_s"] * share)

    return own


def _told_apart(by: str, chosen: Chosen) -> tuple[dict[str, str], dict[str, Any]]:
    params = dict(chosen.params)
    joined = chosen.joined
    if by == "name":
        column = "NULL::VARCHAR"
    elif by == "worker":
        column, joined = "worker.worker", "JOIN worker USING (proc)"
    elif by == "lane":
        column = "lane"
    elif by.startswith("attr:") and len(by) > 5:
        column = "(attrs ->> $attribute)"
        params["attribute"] = "$." + msgspec.json.encode(by[5:]).decode()
    else:
        raise BadSearch(f"by is 'name', 'worker', 'lane' or 'attr:KEY', not {by!r}")
    return {"by": column, "joined": joined, "where": chosen.where}, params


def examples(source: Rows, run: str = LATEST, *, limit: int = 20, now: int | None = None, **selection: Any) -> Examples:
    """The slowest intervals of a `Selection`; its name is taken exactly."""
    this = about(source, run, now)
    chosen = choose(source, this, Selection(**{"exact": True, **selection}))
    fills = {"joined": chosen.joined, "where": chosen.where}
    rows = records(source, "hotspot_examples", {**this.params, **chosen.params, "most": limit}, fills)
    room = Room()
    found = [msgspec.convert(room.opened(row), Slow) for row in rows]
    return Examples(this.run, this.at_ms, chosen.spans, found)
