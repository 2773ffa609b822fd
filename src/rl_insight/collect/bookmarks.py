"""Places in the log that others have reached, kept beside it: an exporter goes on there, whatever becomes of the store.

When lines are taken out of a segment, the bookmarks in it move along. A segment that is dropped before somebody has
read it is counted.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from rl_insight.collect.segments import replace_durably

FILE = "bookmarks.json"
ID_FILE = "collector.id"


class Bookmark(msgspec.Struct, frozen=True):
    """How far somebody has read, and how many bytes were dropped before they could be."""

    segment: int
    offset: int
    missed: int = 0


class Bookmarks:
    """The bookmarks of one log. Any thread may use them."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._lock = threading.Lock()
        self.generation = 0
        """Goes up when lines are taken out of the log: what was read before lies elsewhere now."""
        self._all: dict[str, Bookmark] = {}
        if self._path.exists():
            self._all = msgspec.json.decode(self._path.read_bytes(), type=dict[str, Bookmark])

    def get(self, name: str) -> Bookmark | None:
        """Where `name` has got to."""
        return self._all.get(name)

    def put(self, name: str, segment: int, offset: int, generation: int | None = None) -> bool:
        """Note where `name` has got to; refused when the log has been rewritten since that `generation`."""
        with self._lock:
            if generation is not None and generation != self.generation:
                return False
            before = self._all.get(name)
            self._all[name] = Bookmark(segment, offset, before.missed if before else 0)
            self._save()
            return True

    def pass_over(self, segment: int, length: int) -> None:
        """A segment is about to be dropped: who has not read all of it has missed something."""
        with self._lock:
            late = {name: mark for name, mark in self._all.items() if mark.segment <= segment}
            for name, mark in late.items():
                unread = length - (mark.offset if mark.segment == segment else 0)
                self._all[name] = Bookmark(segment + 1, 0, mark.missed + max(0, unread))
            if late:
                self._save()

    def moving(self, segment: int) -> Move:
        """Follow what is taken out of a segment."""
        return Move(self, segment, {name: mark for name, mark in self._all.items() if mark.segment == segment})

    def moved(self, segment: int, offsets: dict[str, int]) -> None:
        """Lines have been taken out of a segment; these are the offsets in what is left."""
        with self._lock:
            self.generation += 1
            for name, offset in offsets.items():
                mark = self._all[name]
                if mark.segment == segment:
                    self._all[name] = Bookmark(segment, offset, mark.missed)
            if offsets:
                self._save()

    def _save(self) -> None:
        replace_durably(self._path, msgspec.json.encode(self._all))


class Move:
    """Works out where bookmarks lie after lines have been taken out of their segment."""

    def __init__(self, bookmarks: Bookmarks, segment: int, marks: dict[str, Bookmark]) -> None:
        self._bookmarks = bookmarks
        self._segment = segment
        self._marks = marks
        self._read = self._kept = 0
        self._offsets: dict[str, int] = {}

    def watch(self, keep: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
        """The same function, looked at while it is called for piece after piece."""

        def watched(data: bytes) -> bytes:
            left = keep(data)
            for name, mark in self._marks.items():
                if self._read < mark.offset <= self._read + len(data):
                    self._offsets[name] = self._kept + len(keep(data[: mark.offset - self._read]))
            self._read += len(data)
            self._kept += len(left)
            return left

        return watched

    def done(self) -> None:
        """All of the segment has been looked at."""
        self._bookmarks.moved(self._segment, self._offsets)


def collector_id(data_dir: Path) -> str:
    """The name by which this collector knows lines that have been through it; made once."""
    path = data_dir / ID_FILE
    if not path.exists():
        replace_durably(path, secrets.token_hex(8).encode())
    return path.read_text().strip()
