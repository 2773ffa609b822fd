"""Names and labels that Prometheus takes, one for each that was recorded: no two of them become the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from rl_insight.export.metric_names import CATALOGUE, PROCESS

Type: TypeAlias = Literal["counter", "gauge", "histogram", "unknown"]

_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_]")
_NOT_IN_ENGINE_NAME = re.compile(r"[^a-zA-Z0-9_:]")
# Which names the samples of a family have. Another family must have none of them.
_SUFFIXES: dict[Type, tuple[str, ...]] = {
    "counter": ("", "_total", "_created"),
    "gauge": ("",),
    "unknown": ("",),
    "histogram": ("", "_bucket", "_sum", "_count", "_created"),
}
_TYPES: dict[str, Type] = {"count": "counter", "gauge": "gauge", "sample": "histogram"}
# Enough for any label that a person reads; longer ones keep their beginning.
LONGEST_VALUE = 256


class Recorded(NamedTuple):
    """A metric as it was recorded. `engine`: read from an engine's own `/metrics`, whose names are kept."""

    name: str
    kind: str  # count, gauge, sample
    engine: bool = False


class Family(NamedTuple):
    """The name a metric goes by. The samples of a counter end in `_total`, which is no part of it."""

    name: str
    type: Type

    @property
    def shown(self) -> str:
        """What one asks Prometheus for."""
        return f"{self.name}_total" if self.type == "counter" else self.name


class Names:
    """Gives families their names, first come, first served, and remembers them."""

    def __init__(self, namespace: str) -> None:
        self._namespace = legal(namespace)
        self._taken: dict[str, Recorded | None] = {}
        self._families: dict[Recorded, Family] = {}
        self.renamed: dict[Recorded, Family] = {}
        for own in CATALOGUE.values():
            for suffix in _SUFFIXES[own.kind]:
                self._taken[own.family + suffix] = None

    def family(self, recorded: Recorded, *, part: bool = False) -> Family:
        """The family of a recorded metric; always the same, and of no other. A `part` is one of a histogram."""
        found = self._families.get(recorded)
        if found is None:
            found = self._families[recorded] = self._choose(recorded, part)
            for suffix in _SUFFIXES[found.type]:
                self._taken[found.name + suffix] = recorded
        return found

    def forget_all_but(self, used: Iterable[Recorded]) -> None:
        """Let go of names that nothing goes by any more."""
        kept = set(used)
        for recorded in [one for one in self._families if one not in kept]:
            family = self._families.pop(recorded)
            self.renamed.pop(recorded, None)
            for suffix in _SUFFIXES[family.type]:
                del self._taken[family.name + suffix]

    def _choose(self, recorded: Recorded, part: bool) -> Family:
        kind = _TYPES[recorded.kind]
        base = _base(recorded, kind, self._namespace)
        if part or (recorded.engine and kind == "counter" and not recorded.name.endswith("_total")):
            kind = "unknown"  # the parts of a histogram go by the names they have anywhere
        if self._free(base, kind):
            return Family(base, kind)
        # Another kind of the same name is told apart by its kind, another name by what it was.
        says = hashlib.sha256("\0".join((recorded.kind, recorded.name)).encode()).hexdigest()
        typed = f"{base}_{kind}"
        candidates = [typed, *(f"{base}_{says[:length]}" for length in (6, 12, 64))]
        if self._is_of_another_name(base, recorded):
            candidates = candidates[1:]
        found = Family(next(one for one in candidates if self._free(one, kind)), kind)
        self.renamed[recorded] = found
        return found

    def _is_of_another_name(self, base: str, recorded: Recorded) -> bool:
        holder = self._taken.get(base)
        return holder is not None and holder.name != recorded.name

    def _free(self, base: str, kind: Type) -> bool:
        return not any(base + suffix in self._taken for suffix in _SUFFIXES[kind])


def _base(recorded: Recorded, kind: Type, namespace: str) -> str:
    name = recorded.name
    if kind == "counter" and name.endswith("_total"):
        name = name.removesuffix("_total") or "_"
    if not recorded.engine:
        return f"{namespace}_{_NOT_IN_NAME.sub('_', name)}"
    name = _NOT_IN_ENGINE_NAME.sub("_", name)
    return f"_{name}" if name[0].isdigit() else name


def legal(name: str) -> str:
    """A name with nothing in it that Prometheus does not take."""
    name = _NOT_IN_NAME.sub("_", name)
    return f"_{name}" if not name or name[0].isdigit() else name


class LabelNames:
    """The label names of one family: each recorded one has a legal one of its own."""

    def __init__(self, *, bounds: bool = False) -> None:
        # `le` and `quantile` belong to Prometheus; on what came as part of a histogram they mean what they mean to it.
        self._reserved = {*PROCESS} if bounds else {*PROCESS, "le", "quantile"}
        self._legal: dict[str, str] = {}
        self._taken: set[str] = set()

    @property
    def names(self) -> list[str]:
        """All legal names so far."""
        return list(self._legal.values())

    def of(self, recorded: str) -> str:
        """The legal name of a label."""
        found = self._legal.get(recorded)
        if found is None:
            found = legal(recorded)
            if found in self._reserved or found.startswith("__"):
                found = f"label_{found.lstrip('_')}"
            if found in self._taken:
                found = f"label_{found.strip('_')}_{hashlib.sha256(recorded.encode()).hexdigest()[:8]}"
            while found in self._taken:
                found += "_"
            self._legal[recorded] = found
            self._taken.add(found)
        return found


def label_value(value: str) -> str:
    """A label's value as Prometheus takes it: text without NUL, and no book."""
    if "\0" in value:
        value = value.replace("\0", "\ufffd")
    if len(value) > LONGEST_VALUE:
        value = f"{value[:LONGEST_VALUE]}…{hashlib.sha256(value.encode()).hexdigest()[:8]}"
    return value
