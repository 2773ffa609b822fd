"""Series under a limit: the first ones are kept apart, what comes beyond is folded into one that is called `other`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# So many folded series are counted one by one; of more one knows that they are at least as many.
_COUNTED = 10_000


class Example(NamedTuple):
    """One interval that fell into a bucket: its trace, how long it took, and when it ended (seconds)."""

    trace: str
    value: float
    at: float


class Sum:
    """A counter."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0


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
    """Observations by bucket, and their sum. `counts[n]` lie above n bounds and not above the next."""

    __slots__ = ("bounds", "counts", "examples", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.examples: dict[int, Example] = {}

    def add(self, bucket: int, count: int, total: float) -> None:
        """Count observations that lie in a bucket."""
        self.counts[bucket] += count
        self.total += total

    def observe(self, value: float) -> None:
        """Count one observation."""
        self.add(bisect_left(self.bounds, value), 1, value)

    def merge(self, other: Histogram) -> None:
        """Count what another has counted; both have the same bounds."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.total += other.total
        self.examples.update(other.examples)


class Series(Generic[K, V]):
    """Values by key. A key that comes when there are `most` shares the value `other` with all that come after it."""

    __slots__ = ("_folded", "_folded_before", "_new", "kept", "most", "other")

    def __init__(self, most: int, new: Callable[[], V]) -> None:
        self.most = most
        self.kept: dict[K, V] = {}
        self.other: V | None = None
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
    if before is None:
        return value
    both: Any
    if isinstance(value, Histogram):
        both = Histogram(value.bounds)
        both.merge(before)
        both.merge(value)
    else:
        both = Sum()
        both.value = before.value + value.value
    return both
