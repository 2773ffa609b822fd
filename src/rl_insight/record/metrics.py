"""Counters, gauges and distributions. A label set or a type seen before never makes a call fail."""

from typing import Any

from rl_insight.record.recorder import current, monotonic, recorder
from rl_insight.record.values import NUMBERS, number, settle, shown, take_step, text
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
    try:
        if value.__class__ not in NUMBERS:
            given, value = value, number(value)
            if value is None:
                kind_given = type(given).__name__
                recorder.problem("not_a_number", f"metric {shown(name)} dropped: {kind_given} is not a number")
                return
        step = recorder.step
        if labels:
            labels = settle(labels)
            if "step" in labels:
                taken = take_step(labels)
                step = step if taken is None else taken
        if documentation:
            _explain(name, documentation)
        record = (kind, stamp, name, value, labels, step, _current())
        if len(recorder.buffer) < recorder.limit:
            recorder.buffer.append(record)
        else:
            recorder.add(record)
    except Exception as error:
        recorder.failed(error)


def _explain(name: str, documentation: str) -> None:
    """Remember what a metric means; the process line tells."""
    name = text(name)
    if name not in recorder.docs and len(recorder.docs) < 1000:
        recorder.docs[name] = text(documentation)[:500]
