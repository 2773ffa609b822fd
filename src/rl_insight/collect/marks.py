"""High-water marks: the highest `seq` kept of each process. What is not above its mark has been stored already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from operator import attrgetter

from rl_insight.schema import BadLine, Line, decode_lines

_proc = attrgetter("proc")
_seq = attrgetter("seq")


class Marks:
    """Marks that hold, and marks that will hold once the log has the lines they come from."""

    def __init__(self, held: Mapping[str, int] | None = None) -> None:
        self._held = dict(held or {})
        self._staged: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def get(self, proc: str) -> int:
        """The mark of one process, 0 for one never heard of."""
        return self._staged.get(proc) or self._held.get(proc, 0)

    def of(self, procs: Iterable[str]) -> dict[str, int]:
        """The marks of several processes."""
        names = list(procs)
        return dict(zip(names, map(self._staged.get, names, map(self._held.get, names, repeat(0))), strict=True))

    def stage(self, marks: Mapping[str, int]) -> None:
        """Take marks of lines that are on their way to the log."""
        self._staged.update(marks)

    def commit(self) -> None:
        """The log has the lines: staged marks hold from now on."""
        self._held.update(self._staged)
        self._staged.clear()

    def forget(self) -> None:
        """The log has refused the lines: they may come again."""
        self._staged.clear()

    def raise_to(self, marks: Mapping[str, int]) -> None:
        """Take each mark that is higher than the one held."""
        for proc, seq in marks.items():
            if seq > self._held.get(proc, 0):
                self._held[proc] = seq

    def learn(self, lines: bytes) -> None:
        """Raise the marks to what these lines, read back from the log, say."""
        self.raise_to(highest(lines))


def highest(data: bytes) -> dict[str, int]:
    """The highest `seq` of each process among lines in the order of the log, where it only ever grows."""
    lines = readable(data)
    return dict(zip(map(_proc, lines), map(_seq, lines), strict=True))


def readable(data: bytes) -> list[Line]:
    """The lines read back from a log; damaged ones are passed over."""
    try:
        return decode_lines(data)
    except BadLine:
        return [line for raw in data.split(b"\n") for line in _readable(raw)]


def _readable(raw: bytes) -> list[Line]:
    try:
        return decode_lines(raw + b"\n")
    except BadLine:
        return []
