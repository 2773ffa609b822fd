"""Reads the text that engines show under `/metrics`: which samples it has, and what each of them is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

_COUNTED = ("_bucket", "_sum", "_count")
_MOST_LEARNT = 50_000
_MOST_LESSONS = 3


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


class Reader:
    """Reads the text of one target again and again: a series that was there before is known by how its line begins.

    That makes a read ten times cheaper; whatever is new or unusual goes the whole way.
    """

    def __init__(self, *, drop: Iterable[str] = (), buckets: bool = True) -> None:
        self._drop = tuple(drop)
        self._buckets = buckets
        self._known: dict[str, Sample | None] = {}
        self._lessons = _MOST_LESSONS

    def read(self, body: bytes, content_type: str = "") -> list[Sample]:
        """The samples of a body, as `samples` has them."""
        found = None if "openmetrics" in content_type else self._again(body)
        if found is None:
            found = list(samples(body, content_type, drop=self._drop, buckets=self._buckets))
            if self._lessons and "openmetrics" not in content_type:
                self._known = self._learn(body)
                # A text that cannot be learnt is not tried again and again: that costs as much as reading it.
                self._lessons = _MOST_LESSONS if self._known else self._lessons - 1
        return found

    def _again(self, body: bytes) -> list[Sample] | None:
        """All samples when every line begins like a known one, else None."""
        known, found = self._known, []
        try:
            for line in body.decode().split("\n"):
                if not line or line[0] == "#":
                    continue
                begins, _, value = line.rpartition(" ")
                one = known[begins]
                if one is not None:
                    number = float(value)
                    if number - number == 0.0:
                        found.append(one._replace(value=number))
        except (KeyError, ValueError):  # not seen before, with a time stamp, or not a number
            return None
        return found or None

    def _learn(self, body: bytes) -> dict[str, Sample | None]:
        """How each line begins, and what it is: None for those that are left out."""
        lines = [line for line in body.decode().split("\n") if line and line[0] != "#"]
        begins = [line.rpartition(" ")[0] for line in lines]
        # A line with a time stamp has a space before its value that this would take for the last one.
        if any(" " in one and not one.endswith("}") for one in begins) or len(lines) > _MOST_LEARNT:
            return {}
        read: Any = text_string_to_metric_families
        made = [(family.type, one) for family in read(body.decode()) for one in family.samples]
        if len(made) != len(lines):
            return {}
        known: dict[str, Sample | None] = {}
        for begin, (kind_of_family, one) in zip(begins, made, strict=True):
            if begin.partition("{")[0] != one.name:
                return {}
            kind = _kind(kind_of_family, one.name, one.labels)
            left_out = one.name.startswith(self._drop) if self._drop else False
            if kind is None or left_out or (not self._buckets and one.name.endswith("_bucket")):
                known[begin] = None
            else:
                known[begin] = Sample(kind, one.name, one.labels, 0.0)
        return known
