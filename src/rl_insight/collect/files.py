"""Reads lines from files: those of the file sink, and the segments of a log. `open DIR` and the spool tools use it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rl_insight.collect.log import CHUNK_BYTES
from rl_insight.collect.segments import length, open_stream, pieces
from rl_insight.schema import BadLine, decode_lines

# Only names we write ourselves: a folder of training data has .jsonl files of its own.
_NAME = re.compile(r"^(?P<plain>(lines-.+|\d{12})\.jsonl)(\.zst|\.gz)?$")


class LineFile(NamedTuple):
    """A file of lines. `source` stays the same when the file is compressed, so that a position in it stays good."""

    source: str
    path: Path

    def size(self) -> int:
        """About how many bytes of lines it holds."""
        return length(self.path)


class Bad(NamedTuple):
    """A line that could not be read, and why."""

    path: Path
    offset: int
    line: bytes
    problem: str


def line_files(directory: Path) -> list[LineFile]:
    """The line files in a directory and below, in the order in which they should be read."""
    if directory.is_file():
        return [LineFile(directory.name, directory)]
    found: dict[str, Path] = {}
    for path in sorted(directory.rglob("*.jsonl*")):
        match = _NAME.match(path.name)
        if match and path.is_file():
            source = path.with_name(match["plain"]).relative_to(directory).as_posix()
            found.setdefault(source, path)
    return [LineFile(source, path) for source, path in found.items()]


def read_lines(
    path: Path, offset: int = 0, *, limit: int = CHUNK_BYTES, on_bad: Callable[[Bad], None] | None = None
) -> Iterator[tuple[bytes, int]]:
    """Yield `(good lines, offset after them)` from `offset` on, in pieces of about `limit` bytes.

    Stops before a last line that is still being written. What is not a line is left out and told to `on_bad`.
    """
    with open_stream(path) as stream:
        for data, after in pieces(stream, offset, limit):
            try:
                decode_lines(data)
            except BadLine:
                data = _good(path, data, after - len(data), on_bad)
            yield data, after


def _good(path: Path, data: bytes, offset: int, on_bad: Callable[[Bad], None] | None) -> bytes:
    good = []
    for raw in _split(data):
        try:
            if decode_lines(raw):
                good.append(raw)
        except BadLine as bad:
            if on_bad:
                on_bad(Bad(path, offset, raw, bad.problem))
        offset += len(raw)
    return b"".join(good)


def _split(data: bytes) -> list[bytes]:
    return [raw + b"\n" for raw in data.split(b"\n")[:-1]]
