"""Series under a limit: the first ones are kept apart, what comes beyond is folded into one that is called `other`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_BITS = 60
_UNIT = 1 << _BITS
# So many folded series are counted one by one; of more one knows that they are at least as many.
_COUNTED = 10_000


class Example(NamedTuple):
    """One interval that fell into a bucket: its trace, how long it took, and when it ended (seconds)."""

    trace: str
    value: float
    at: float


class Sum:
    """A sum that is the same in whatever order things are added: to read everything anew makes no counter fall.

    It is kept in whole units of 2^-60, which holds any number above 0.004 exactly.
    """

    __slots__ = ("_large", "_units")

    def __init__(self, units: int = 0, large: float = 0.0) -> None:
        self._units = units
        self._large = large

    @property
    def value(self) -> float:
        """What it comes to."""
        value = self._units / _UNIT
        return value + self._large if self._large else value

    def add(self, whole: int, fraction: int = 0, large: float = 0.0) -> None:
        """Add a whole number, so many units, and what is too large for them."""
        self._units += (whole << _BITS) + fraction
        self._large += large

    def plus(self, other: Sum) -> Sum:
        """Both together."""
        return Sum(self._units + other._units, self._large + other._large)


class Last:
    """A gauge: what it was set to last, and when (ns, by the clock of its process)."""

    __slots__ = ("ts", "value")

    def __init__(self) -> None:
        self.ts = -1
        self.value = 0.0

    def set(self, ts: int, value: float) -> None:
        """Take a newer value."""
        if ts >= self.ts:
            self.ts, self.value = ts, value


class Histogram:
    """Observations by bucket, and their sum. `counts[n]` lie above n bounds and not above the next.

    Intervals are added up in nanoseconds and told in seconds: their sum is divided `by` 1e9.
    """

    __slots__ = ("bounds", "by", "counts", "examples", "total")

    def __init__(self, bounds: Sequence[float], by: float = 1.0) -> None:
        self.bounds = bounds
        self.by = by
        self.counts = [0] * (len(bounds) + 1)
        self.total = Sum()
        self.examples: dict[int, Example] = {}

    @property
    def sum(self) -> float:
        """What all observations come to."""
        return self.total.value / self.by

    def plus(self, other: Histogram) -> Histogram:
        """Both together; they have the same bounds."""
        both = Histogram(self.bounds, self.by)
        both.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        both.total = self.total.plus(other.total)
        both.examples = {**self.examples, **other.examples}
        return both


class Series(Generic[K, V]):
    """Values by key. A key that comes when there are `most` shares the value `other` with all that come after it."""

    __slots__ = ("_folded", "_folded_before", "_new", "kept", "most", "other", "touched")

    def __init__(self, most: int, new: Callable[[], V]) -> None:
        self.most = most
        self.kept: dict[K, V] = {}
        self.other: V | None = None
        self.touched = 0  # how often something was asked for, to be changed
        self._new = new
        self._folded: set[int] = set()
        self._folded_before = 0

    @property
    def folded(self) -> int:
        """How many series have been folded, at least."""
        return self._folded_before + len(self._folded)

    def has_room(self, key: K) -> bool:
        """Whether a key has, or may have, a value of its own; one that may not is counted as folded."""
        if key in self.kept or len(self.kept) < self.most:
            return True
        if len(self._folded) < _COUNTED:
            self._folded.add(hash(key))
        return False

    def fold(self, series: int) -> None:
        """Take note of series that came folded already."""
        self._folded_before = max(self._folded_before, series)

    def at(self, key: K | None) -> V:
        """The value of a key, begun if there is none; that of `other` for None and for a key without room."""
        self.touched += 1
        if key is not None and self.has_room(key):
            value = self.kept.get(key)
            if value is None:
                value = self.kept[key] = self._new()
            return value
        if self.other is None:
            self.other = self._new()
        return self.other


def added(before: Any, value: Any) -> Any:
    """Two counters or two distributions as one; neither is changed."""
    return value if before is None else before.plus(value)
