"""Metrics of OTLP become points. Totals become what was added to them, as a `count` line says it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec

from rl_insight.collect.otlp import wire
from rl_insight.collect.otlp.cleaning import Cleaner, stamp, take
from rl_insight.collect.otlp.staged import Staged
from rl_insight.schema import Count, Gauge, Line, Log, Sample

MAX_SERIES = 200_000

_MAX_ASKED = 1000
_DELTA = 1
_NO_VALUE = 1
_KINDS: dict[str, type[Count] | type[Gauge] | type[Sample]] = {"count": Count, "gauge": Gauge, "sample": Sample}
Series = tuple[str, str, bytes]


class Reached(NamedTuple):
    """Where a series stands: when its total began, when it was told last, and its figures by name."""

    start: int
    time: int
    figures: dict[str, float]
    scale: int = 0


class Sources(NamedTuple):
    """Whose metrics they are: the resource, and the processes it was before this collector started."""

    resource: str
    earlier: tuple[str, ...] = ()


Counted = dict[tuple[str, frozenset[tuple[str, str]]], float]
Stored = Callable[[list[str], int], "Counted | None"]


def our_points(metric: Any) -> Iterator[tuple[int | None, Line]]:
    """The points that our exporter put into a metric, each as the line it was, with the number it had."""
    _, data = wire.data_of(metric)
    for point in data.data_points if data is not None else ():
        labels = wire.attributes(point.attributes) or None
        for exemplar in point.exemplars:
            taken = take(wire.attributes(exemplar.filtered_attributes))
            value = wire.number_of(exemplar)
            kind = _KINDS.get(taken.kind or "")
            if kind is None or value is None:
                continue
            fields = taken.fields
            yield (
                taken.seq,
                kind(
                    "-",
                    1,
                    stamp(exemplar.time_unix_nano),
                    metric.name,
                    value,
                    labels,
                    fields.get("step"),
                    fields.get("task"),
                    fields.get("session"),
                ),
            )


class Totals:
    """Remembers where each series stood, to say what was added since."""

    def __init__(self, cleaner: Cleaner, started: int, stored: Stored = lambda procs, since: None) -> None:
        self.series: Staged[Series, Reached] = Staged(limit=MAX_SERIES)
        self._cleaner = cleaner
        self._started = started
        self._stored = stored
        self._asked: dict[tuple[tuple[str, ...], int], Counted | None] = {}

    def points(self, metric: Any, source: Sources, scope: str, now: int) -> Iterator[Line]:
        """The lines of a metric of anybody's."""
        kind, data = wire.data_of(metric)
        name = self._cleaner.name(metric.name)
        for point in data.data_points if data is not None else ():
            if point.flags & _NO_VALUE:
                continue
            ts = stamp(point.time_unix_nano or now)
            attributes = wire.attributes(point.attributes)
            key = (source.resource, f"{scope}\n{metric.name}", msgspec.json.encode(attributes, order="sorted"))
            labels = self._cleaner.labels(attributes)
            step = attributes.get("rl.step")
            lines = self._lines(kind, data, point, name, labels, ts, key, source.earlier)
            for line in lines:
                if isinstance(line, (Count, Gauge, Sample)) and type(step) is int:
                    line.step = step
                yield line

    def _lines(
        self, kind: str, data: Any, point: Any, name: str, labels: Any, ts: int, key: Series, earlier: tuple[str, ...]
    ) -> Iterator[Line]:
        if kind in ("gauge", "sum"):
            value = wire.number_of(point)
            if value is None:
                return
            if not math.isfinite(value):
                attrs = {"metric": name, "value": str(value), **(labels or {})}
                yield Log("-", 1, ts, "metric is not finite", "warning", "rl_insight", attrs=attrs)
            elif kind == "gauge":
                yield Gauge("-", 1, ts, name, value, labels)
            elif not data.is_monotonic:
                yield Gauge("-", 1, ts, name, self._level(data, point, value, key), labels)
            else:
                yield from self._counts(data, point, {name: value}, labels, ts, key, earlier)
        elif kind == "histogram":
            yield from self._counts(data, point, _explicit(name, point), labels, ts, key, earlier)
        elif kind == "exponential_histogram":
            scale, figures = _exponential(name, point)
            yield from self._counts(data, point, figures, labels, ts, key, earlier, scale)
        elif kind == "summary":
            for at in point.quantile_values:
                if math.isfinite(at.value):
                    yield Gauge("-", 1, ts, name, at.value, {**(labels or {}), "quantile": f"{at.quantile:g}"})
            figures = {f"{name}_count": float(point.count), f"{name}_sum": float(point.sum)}
            yield from self._counts(None, point, figures, labels, ts, key, earlier)

    def _counts(
        self,
        data: Any,
        point: Any,
        figures: dict[str, float],
        labels: Any,
        ts: int,
        key: Series,
        earlier: tuple[str, ...],
        scale: int = 0,
    ) -> Iterator[Line]:
        """What was added to each figure, as counts; a bucket's figure is named `NAME_bucket` and its bound."""
        if not all(map(math.isfinite, figures.values())):
            return
        if data is not None and data.aggregation_temporality == _DELTA:
            moved, first = figures, self.series.get(key) is None
            self.series.put(key, Reached(0, ts, {}))
        else:
            found = self._moved(point, figures, labels, key, earlier, scale, ts)
            if found is None:
                return
            moved, first = found
        for name, value in _cumulative(moved, scale):
            stem, _, bound = name.partition("\n")
            # The first is told even when it is nothing: so the metric is there, and the bounds of its buckets.
            if value or first:
                yield Count("-", 1, ts, stem, value, {**(labels or {}), "le": bound} if bound else labels)

    def _moved(
        self,
        point: Any,
        figures: dict[str, float],
        labels: Any,
        key: Series,
        earlier: tuple[str, ...],
        scale: int,
        ts: int,
    ) -> tuple[dict[str, float], bool] | None:
        """What was added to each figure since it was told last, and whether that is the first time. None: nothing."""
        start, before = point.start_time_unix_nano, self.series.get(key)
        if before is None:
            self.series.put(key, Reached(start, ts, figures, scale))
            return self._first(start, figures, labels, earlier), True
        if ts <= before.time and start <= before.start:
            return None  # sent again, or overtaken
        old = before.figures
        if scale < before.scale:
            old = _coarser(old, before.scale - scale)
        # A sum of observations may well go down; what is counted may not.
        shrunk = any(figures.get(one, 0.0) < at for one, at in old.items() if not one.endswith("_sum"))
        anew = start > before.start or scale > before.scale or shrunk
        self.series.put(key, Reached(start, ts, figures, scale))
        return (figures if anew else {one: at - old.get(one, 0.0) for one, at in figures.items()}), False

    def _first(self, start: int, figures: dict[str, float], labels: Any, earlier: tuple[str, ...]) -> dict[str, float]:
        """What a total adds that this collector has not heard of before: all of it, but for what is stored already."""
        nothing = dict.fromkeys(figures, 0.0)
        if not start:
            return nothing  # counted from a moment on that nobody knows
        if not earlier or start >= self._started:
            return figures
        if (earlier, start) not in self._asked:
            if len(self._asked) >= _MAX_ASKED:
                self._asked.clear()
            self._asked[earlier, start] = self._stored(list(earlier), start)
        stored = self._asked[earlier, start]
        if stored is None or any("\n#" in name for name in figures):
            return nothing
        moved = {}
        for name, value in figures.items():
            stem, _, bound = name.partition("\n")
            told = {**(labels or {}), "le": bound} if bound else (labels or {})
            moved[name] = value - stored.get((stem, frozenset(told.items())), 0.0)
        # Less than there is stored: it is not the same total, whatever it says.
        return moved if all(at >= 0 for one, at in moved.items() if not one.endswith("_sum")) else nothing

    def _level(self, data: Any, point: Any, value: float, key: Series) -> float:
        """A sum that goes up and down is a level: what was added, put together, or the sum itself."""
        if data.aggregation_temporality != _DELTA:
            return value
        before = self.series.get(key)
        level = value + (before.figures.get("", 0.0) if before else 0.0)
        self.series.put(key, Reached(0, point.time_unix_nano, {"": level}))
        return level


# Figures of buckets are named "STEM\nBOUND" (explicit) or, until they are told, "STEM\n#SIGN:INDEX" (exponential).


def _explicit(name: str, point: Any) -> dict[str, float]:
    figures = {f"{name}_count": float(point.count)}
    total = wire.sum_of(point)
    if total is not None:
        figures[f"{name}_sum"] = total
    bounds = [*point.explicit_bounds, math.inf]
    if len(point.bucket_counts) == len(bounds):
        for bound, count in zip(bounds, accumulate(point.bucket_counts), strict=True):
            figures[f"{name}_bucket\n{_bound(bound)}"] = float(count)
    return figures


def _exponential(name: str, point: Any) -> tuple[int, dict[str, float]]:
    figures = {f"{name}_count": float(point.count)}
    total = wire.sum_of(point)
    if total is not None:
        figures[f"{name}_sum"] = total
    stem = f"{name}_bucket\n#"
    if point.zero_count:
        figures[f"{stem}0:{point.zero_threshold!r}"] = float(point.zero_count)
    for sign, buckets in (("+", point.positive), ("-", point.negative)):
        for index, count in enumerate(buckets.bucket_counts, buckets.offset):
            if count:
                figures[f"{stem}{sign}:{index}"] = float(count)
    return int(point.scale), figures


def _coarser(figures: dict[str, float], shift: int) -> dict[str, float]:
    """The same figures at a smaller scale: neighbouring buckets are one."""
    merged: dict[str, float] = {}
    for name, value in figures.items():
        stem, mark, at = name.partition("\n#")
        if mark and at[0] in "+-":
            name = f"{stem}\n#{at[:2]}{int(at[2:]) >> shift}"
        merged[name] = merged.get(name, 0.0) + value
    return merged


def _cumulative(figures: dict[str, float], scale: int) -> list[tuple[str, float]]:
    """Buckets of an exponential histogram by their upper bound, each with all below it, as Prometheus has them."""
    plain = [(name, value) for name, value in figures.items() if "\n#" not in name]
    marked = [(name.partition("\n#"), value) for name, value in figures.items() if "\n#" in name]
    if not marked:
        return plain
    bounds = sorted((_upper(at, scale), stem, value) for (stem, _, at), value in marked)
    below = accumulate(value for _, _, value in bounds)
    told = [(f"{stem}\n{_bound(bound)}", total) for (bound, stem, _), total in zip(bounds, below, strict=True)]
    return [*plain, *told, (f"{bounds[0][1]}\n+Inf", sum(value for _, _, value in bounds))]


def _upper(at: str, scale: int) -> float:
    sign, _, index = at.partition(":")
    if sign == "0":
        return float(index)
    try:
        exponent = math.ldexp(float(int(index) + (sign == "+")), -scale)
        magnitude = math.pow(2.0, exponent)
    except OverflowError:
        magnitude = math.inf
    return magnitude if sign == "+" else -magnitude


def _bound(bound: float) -> str:
    return "+Inf" if bound == math.inf else f"{bound:.9g}" if bound != int(bound) else str(int(bound))
