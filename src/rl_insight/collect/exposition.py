"""Reads the text that engines show under `/metrics`: which samples it has, and what each of them is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

_COUNTED = ("_bucket", "_sum", "_count")


class BadBody(ValueError):
    """What a target answered is not the text of metrics."""


class Sample(NamedTuple):
    """One number of a target. A `count` only grows, until its process starts anew."""

    kind: Literal["count", "gauge"]
    name: str
    labels: dict[str, str]
    value: float


def samples(body: bytes, content_type: str = "", *, drop: Iterable[str] = (), buckets: bool = True) -> Iterator[Sample]:
    """The samples of a body; what is not finite, when a series was created, and names in `drop` are left out."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise BadBody(f"the answer is not text: {error}") from None
    if not text.strip():
        raise BadBody("the answer is empty")
    read: Any = text_string_to_metric_families
    if "openmetrics" in content_type:
        read = openmetrics.text_string_to_metric_families
    else:
        text = _without(text, tuple(drop))
    try:
        for family in read(text):
            for one in family.samples:
                kind = _kind(family.type, one.name, one.labels)
                if kind is None or (not buckets and one.name.endswith("_bucket")):
                    continue
                value = float(one.value)
                if value - value == 0.0 and not one.name.startswith(tuple(drop)):
                    yield Sample(kind, one.name, one.labels, value)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise BadBody(f"the answer is not the text of metrics: {error}") from None


def _without(text: str, drop: tuple[str, ...]) -> str:
    # Reading a line costs ten times as much as passing over it.
    return "\n".join(line for line in text.split("\n") if not line.startswith(drop)) + "\n" if drop else text


def _kind(family: str, name: str, labels: dict[str, str]) -> Literal["count", "gauge"] | None:
    if name.endswith("_created"):
        return None
    if family == "counter":
        return "count"
    if family == "histogram" or (family == "summary" and "quantile" not in labels):
        return "count" if name.endswith(_COUNTED) else None
    return "gauge"
