"""Counters, gauges and distributions. A label set or a type seen before never makes a call fail."""

from typing import Any

from rl_insight.record.recorder import current, monotonic, recorder
from rl_insight.record.values import NUMBERS, number, settle
from rl_insight.schema import Count, Gauge, Sample

_current = current.get


def metric_count(name: str, amount: float = 1.0, documentation: str = "", **labels: Any) -> None:
    """Move a counter by `amount`, which is not negative."""
    if recorder.active:
        _add(Count, name, amount, documentation, labels)


def metric_gauge(name: str, value: float, documentation: str = "", **labels: Any) -> None:
    """Record the value a quantity has now."""
    if recorder.active:
        _add(Gauge, name, value, documentation, labels)


def metric_distribution(name: str, value: float, documentation: str = "", **labels: Any) -> None:
    """Record one observation of a distribution."""
    if recorder.active:
        _add(Sample, name, value, documentation, labels)


metric_value = metric_gauge
metric_histogram = metric_distribution


def _add(kind: Any, name: str, value: Any, documentation: str, labels: dict[str, Any]) -> None:
    stamp = monotonic()
    if value.__class__ not in NUMBERS:
        given, value = value, number(value)
        if value is None:
            recorder.problem("not_a_number", f"metric {name!r} dropped: {type(given).__name__} is not a number")
            return
    step = recorder.step
    if labels:
        labels = settle(labels)
        if labels.get("step").__class__ is int:
            step = labels.pop("step")
    if documentation and name not in recorder.docs and len(recorder.docs) < 1000:
        recorder.docs[name] = str(documentation)
    if len(recorder.buffer) < recorder.limit:
        recorder.buffer.append((kind, stamp, name, value, labels, step, _current()))
    else:
        recorder.add(None)
