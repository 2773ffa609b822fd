"""Lines in a real store, and the brute-force answers that read models are held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from harness import TS, encode
from rl_insight.store import FileProjector, Store

MS = 1_000_000
S = 1_000_000_000


def project(folder: Path, data_dir: Path) -> Store:
    """A store with all that the line files in `folder` hold; may be called again as they grow."""
    data_dir.mkdir(parents=True, exist_ok=True)
    store = Store.open(data_dir)
    files = FileProjector(store, folder)
    files.catch_up()
    files.stop()
    return store


@contextmanager
def stored(tmp_path: Path, *bodies: bytes) -> Iterator[Store]:
    """A store with these lines in it."""
    folder = tmp_path / "lines"
    folder.mkdir(parents=True, exist_ok=True)
    for number, body in enumerate(bodies):
        (folder / f"lines-{number}.jsonl").write_bytes(body)
    store = project(folder, tmp_path / "data")
    try:
        yield store
    finally:
        store.close()


class Recorder:
    """Lines of one process, written by hand; times are ms after the tests' beginning of time."""

    def __init__(self, proc: str, role: str = "rollout", rank: int = 0, run: str = "run-1", **more: Any) -> None:
        self.proc = proc
        self.lines: list[dict[str, Any]] = []
        self._add("process", 0, proc, run=run, schema="1.0", role=role, rank=rank, **more)

    def _add(self, kind: str, at: float, name: str, **fields: Any) -> None:
        given = {key: value for key, value in fields.items() if value is not None}
        stamp = TS + round(at * MS)
        self.lines.append(
            {"kind": kind, "proc": self.proc, "seq": len(self.lines) + 1, "ts": stamp, "name": name, **given}
        )

    def span(self, name: str, start: float, end: float, **fields: Any) -> None:
        fields.setdefault("id", f"{self.proc}-{len(self.lines)}")
        self._add("span", start, name, dur=round((end - start) * MS), **fields)

    def open(self, name: str, start: float, **fields: Any) -> None:
        fields.setdefault("id", f"{self.proc}-{len(self.lines)}")
        self._add("open", start, name, **fields)

    def fact(self, name: str, at: float, tags: Mapping[str, str] | None = None, **fields: Any) -> None:
        self._add("fact", at, name, tags=tags, **fields)

    def log(self, message: str, at: float, level: str = "info", **fields: Any) -> None:
        self._add("log", at, message, level=level, **fields)

    def gauge(self, name: str, at: float, value: float, **fields: Any) -> None:
        self._add("gauge", at, name, value=value, **fields)

    def finished(self, at: float) -> None:
        first = {key: value for key, value in self.lines[0].items() if key not in ("kind", "proc", "seq", "ts", "name")}
        self._add("process", at, self.proc, **{**first, "state": "finished"})

    def body(self) -> bytes:
        return encode(*self.lines)


def covered(intervals: Iterable[tuple[int, int]], low: int | None = None, high: int | None = None) -> int:
    """How much of the time between `low` and `high` at least one interval covers, piece by piece."""
    clipped = [
        (max(start, low) if low is not None else start, min(end, high) if high is not None else end)
        for start, end in intervals
    ]
    clipped = [(start, end) for start, end in clipped if start < end]
    moments = sorted({moment for pair in clipped for moment in pair})
    return sum(
        right - left
        for left, right in pairwise(moments)
        if any(start <= left and right <= end for start, end in clipped)
    )
