"""How does this number move? Any metric by step or by time, by label, or as a distribution."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

import msgspec

from rl_insight.read import buckets
from rl_insight.read.about import about
from rl_insight.read.compose import records
from rl_insight.read.rows import Rows
from rl_insight.read.timeline import window

MOST_LABELS = 50
MOST_SERIES = 24
HEAT_ROWS = 28
# A heat map is by logarithm when its largest value is more than so many times its least.
WIDE = 100


class Metric(msgspec.Struct):
    """A metric of a run: what it is called, its kind, its labels with their values, and where it stands."""

    name: str
    kind: Literal["count", "gauge", "sample", "histogram"]
    points: int
    stepped: bool
    labels: dict[str, list[str]]
    first: float
    last: float
    low: float | None
    high: float | None
    now: float | None


class Metrics(msgspec.Struct):
    """All metrics of a run."""

    run: str
    at: float
    metrics: list[Metric]


class Series(msgspec.Struct):
    """One line: `values` at the x of the answer, the band around them, and how many points each is made of."""

    label: str | None
    values: list[float | None]
    low: list[float | None]
    high: list[float | None]
    n: list[int]
    unusable: int


class Heat(msgspec.Struct):
    """Counts per x and value: `counts[x][y]`, y from `low` upwards in steps of `height`.

    With `log` these are of the decimal logarithm of the values.
    """

    low: float
    height: float
    rows: int
    counts: list[list[int]]
    log: bool = False


class Course(msgspec.Struct):
    """A metric over steps or time (epoch ms). `says` tells what a value is; `more` how many labels are left out."""

    run: str
    name: str
    kind: str
    by: Literal["step", "time"]
    says: str
    width: float
    x: list[float]
    series: list[Series]
    heat: Heat | None
    more: int


class NoSuchMetric(LookupError):
    """The run has no metric of that name in that range."""


def metrics(source: Rows, run: str) -> Metrics:
    """Which metrics there are."""
    looked = about(source, run)
    found: dict[str, Metric] = {}
    for row in records(source, "metric_names", looked.params):
        one = found.get(row["name"])
        if one is None:
            one = found[row["name"]] = Metric(
                row["name"],
                row["kind"],
                0,
                False,
                {},
                row["first"],
                row["last"],
                row["low"],
                row["high"],
                _finite(row["now"]),
            )
        if row["last"] >= one.last:
            one.last, one.now = row["last"], _finite(row["now"])
        one.points += row["points"]
        one.stepped = one.stepped or row["stepped"] > 0
        one.first = min(one.first, row["first"])
        one.low = _finite(min(one.low if one.low is not None else row["low"], row["low"]))
        one.high = _finite(max(one.high if one.high is not None else row["high"], row["high"]))
        for key, value in (json.loads(row["labels"]) if row["labels"] else {}).items():
            values = one.labels.setdefault(key, [])
            if len(values) < MOST_LABELS and value not in values:
                values.append(value)
    for one in found.values():
        for values in one.labels.values():
            values.sort()
    for name in buckets.histograms({one.name: one.labels for one in found.values() if one.kind == "count"}):
        if name not in found:
            _fold(found, name)
    return Metrics(looked.run, looked.at_ms, sorted(found.values(), key=lambda one: one.name))


def _fold(found: dict[str, Metric], name: str) -> None:
    """Show bucket, sum and count of a histogram as the one metric that they are."""
    whole = found.pop(name + buckets.COUNT)
    found.pop(name + buckets.SUM)
    found.pop(name + buckets.BUCKET)
    found[name] = msgspec.structs.replace(whole, name=name, kind="histogram", low=None, high=None, now=None)


def course(
    source: Rows,
    run: str,
    name: str,
    *,
    by: Literal["step", "time"] = "step",
    group: str | None = None,
    since: float | None = None,
    until: float | None = None,
    points: int = 400,
    heat: bool = False,
    log: bool | None = None,
) -> Course:
    """One metric over steps or time, at most `points` of them; `log` says how `heat` is scaled, or the values do."""
    looked = about(source, run)
    begin, end = window(looked, since, until)
    # A window ends before `to`, but the last moment of a run belongs to it.
    asked: dict[str, Any] = {**looked.params, "name": name, "from": begin, "to": end + 1}
    (kind,) = records(source, "metric_kind", asked)
    if not kind["points"]:
        (bucketed,) = records(source, "metric_kind", {**asked, "name": name + buckets.BUCKET})
        if bucketed["points"]:
            return _histogram(source, looked.run, asked, group, points)
        raise NoSuchMetric(f"run {looked.run!r} has no metric {name!r} in this range")
    by_step = by == "step" and kind["first_step"] is not None
    origin = kind["first_step"] if by_step else begin
    length = kind["last_step"] - origin + 1 if by_step else end - begin
    width = max(1, -(-length // points)) if by_step else max(1.0, length / points)
    asked |= {"by_step": by_step, "origin": origin, "width": width, "label": group}
    columns = int((length - 1) // width) + 1 if by_step else points
    rows = records(source, "metric_course", asked)
    used = sorted({min(max(row["x"], 0), columns - 1) for row in rows})
    lines: dict[str | None, dict[int, dict[str, Any]]] = {}
    for row in rows:
        lines.setdefault(row["label"], {})[min(max(row["x"], 0), columns - 1)] = row
    largest = sorted(lines, key=lambda label: -sum(row["n"] for row in lines[label].values()))[:MOST_SERIES]
    seconds = None if by_step else width / 1e9
    series = [_series(label, lines[label], used, kind["kind"], seconds) for label in sorted(largest, key=str)]
    unit = 1 if by_step else 1e6
    return Course(
        run=looked.run,
        name=name,
        kind=kind["kind"],
        by="step" if by_step else "time",
        says=_says(kind["kind"], by_step),
        width=width / unit,
        x=[(origin + place * width) / unit for place in used],
        series=series,
        heat=_heat(source, asked, kind, used, log) if heat else None,
        more=len(lines) - len(largest),
    )


def _histogram(source: Rows, run: str, asked: dict[str, Any], group: str | None, points: int) -> Course:
    """A histogram over time, as engines show them: they know no step."""
    begin, end = asked["from"], asked["to"]
    width = max(1.0, (end - begin) / points)
    where = {**asked, "name": asked["name"] + buckets.BUCKET, "origin": begin, "width": width, "label": group}
    found: dict[str | None, dict[int, dict[str, float]]] = {}
    for row in records(source, "metric_buckets", where):
        x = min(max(row["x"], 0), points - 1)
        counts = found.setdefault(row["label"], {}).setdefault(x, {})
        counts[row["le"]] = counts.get(row["le"], 0.0) + row["n"]
    bounds = {row["le"] for row in records(source, "metric_bounds", where)}
    used = sorted({x for places in found.values() for x in places})
    total = {label: sum(max(counts.values()) for counts in places.values()) for label, places in found.items()}
    largest = sorted(found, key=lambda label: -total[label])[:MOST_SERIES]
    series = []
    for label in sorted(largest, key=str):
        made = Series(label, [], [], [], [], 0)
        for x in used:
            counts = found[label].get(x, {})
            low, middle, high = buckets.quantiles({**dict.fromkeys(bounds, 0.0), **counts}) or (None, None, None)
            made.values.append(middle)
            made.low.append(low)
            made.high.append(high)
            made.n.append(round(max(counts.values(), default=0)))
        series.append(made)
    return Course(
        run=run,
        name=asked["name"],
        kind="histogram",
        by="time",
        says=f"{_says('sample', False)}, as its buckets tell",
        width=width / 1e6,
        x=[(begin + place * width) / 1e6 for place in used],
        series=series,
        heat=None,
        more=len(found) - len(largest),
    )


def _series(
    label: str | None, rows: dict[int, dict[str, Any]], used: list[int], kind: str, seconds: float | None
) -> Series:
    made = Series(label, [], [], [], [], 0)
    for place in used:
        row = rows.get(place)
        made.n.append(row["n"] if row else 0)
        if row is None:
            for values in (made.values, made.low, made.high):
                values.append(None)
            continue
        made.unusable += row["unusable"]
        if kind == "count":
            total = row["total"]
            made.values.append(total if seconds is None or total is None else total / seconds)
            made.low.append(None)
            made.high.append(None)
        elif kind == "sample" and row["quantiles"]:
            low, middle, high = row["quantiles"]
            made.values.append(middle)
            made.low.append(low)
            made.high.append(high)
        else:
            made.values.append(row["mean"])
            made.low.append(row["low"])
            made.high.append(row["high"])
    return made


def _says(kind: str, by_step: bool) -> str:
    if kind == "count":
        return "sum in each step" if by_step else "per second"
    if kind == "sample":
        return "median, with the middle 80 %"
    return "mean, with lowest and highest"


def _heat(source: Rows, asked: dict[str, Any], kind: dict[str, Any], used: list[int], log: bool | None) -> Heat | None:
    low, high = kind["low"], kind["high"]
    if low is None or high is None:
        return None
    # Few values far above the rest, as latencies have, would leave the rest one row.
    log = low > 0 and (high > WIDE * low if log is None else log)
    if log:
        low, high = math.log10(low), math.log10(high)
    height = (high - low) / HEAT_ROWS or 1.0
    place = {x: at for at, x in enumerate(used)}
    counts = [[0] * HEAT_ROWS for _ in used]
    for row in records(source, "metric_heat", {**asked, "low": low, "height": height, "rows": HEAT_ROWS, "log": log}):
        at = place.get(row["x"])
        if at is not None:
            counts[at][max(0, row["y"])] += row["n"]
    return Heat(low, height, HEAT_ROWS, counts, log)


def _finite(value: float | None) -> float | None:
    return value if value is not None and value - value == 0 else None
