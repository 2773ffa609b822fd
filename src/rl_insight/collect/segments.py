"""Segment files: names, compressed or not, read in pieces that end on a newline. The log and the file reader use it."""

from __future__ import annotations

import gzip
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import zstandard

NAME = re.compile(r"^(\d{12})\.jsonl(\.zst)?$")
PART = ".part"


def segment_path(directory: Path, number: int) -> Path:
    """Where a segment's lines are while it is not compressed."""
    return directory / f"{number:012d}.jsonl"


def numbered(directory: Path) -> dict[int, Path]:
    """The segments of a log directory, by number, in order. A compressed copy next to its original is left out."""
    found: dict[int, Path] = {}
    for path in sorted(directory.iterdir()):
        match = NAME.match(path.name)
        if match:
            # "x.jsonl" sorts before "x.jsonl.zst"; the original goes only after its copy is whole.
            found.setdefault(int(match.group(1)), path)
    return found


def open_stream(path: Path) -> IO[bytes]:
    """Open a line file for reading, decompressing by its name."""
    if path.suffix == ".zst":
        reader = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)
        return io.BufferedReader(cast(io.RawIOBase, reader))
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb", buffering=0)


def length(path: Path) -> int:
    """How many bytes of lines a segment holds, uncompressed; the compressed size where its header does not say."""
    if path.suffix == ".zst":
        with path.open("rb") as stream:
            size = zstandard.get_frame_parameters(stream.read(18)).content_size
        if size not in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR):
            return int(size)
    return path.stat().st_size


def pieces(stream: IO[bytes], offset: int, limit: int, end: int | None = None) -> Iterator[tuple[bytes, int]]:
    """Yield `(lines, offset after them)` from `offset` on, about `limit` bytes each, always whole lines.

    Stops at `end`, at the end of the stream, or before a last line that has no newline yet. A line longer than
    `limit` comes as one piece of its own length.
    """
    _skip(stream, offset)
    rest = b""
    position = offset
    while end is None or position + len(rest) < end:
        want = limit - len(rest) if len(rest) < limit else limit
        if end is not None:
            want = min(want, end - position - len(rest))
        read = stream.read(want)
        if not read:
            return
        data = rest + read if rest else read
        cut = data.rfind(b"\n") + 1
        if cut:
            position += cut
            yield (data if cut == len(data) else data[:cut]), position
        rest = data[cut:]


def _skip(stream: IO[bytes], offset: int) -> None:
    if stream.seekable() and isinstance(stream, io.FileIO):
        stream.seek(offset)
        return
    while offset > 0:
        passed = stream.read(min(offset, 1 << 20))
        if not passed:
            return
        offset -= len(passed)


def sync_directory(directory: Path) -> None:
    """Make renames and new names in a directory survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_durably(target: Path, data: bytes) -> None:
    """Write a small file whole or not at all."""
    part = target.with_name(target.name + PART)
    with part.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(target)
    sync_directory(target.parent)
