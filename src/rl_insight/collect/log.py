"""The log: every acknowledged line, in order, in numbered segments. The collector appends, the projection reads."""

from __future__ import annotations

import errno
import io
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import zstandard

from rl_insight.collect.bookmarks import Bookmarks
from rl_insight.collect.segments import (
    PART,
    length,
    numbered,
    open_stream,
    pieces,
    replace_durably,
    segment_path,
    sync_directory,
)
from rl_insight.schema import BadLine, decode_lines

logger = logging.getLogger(__name__)

CHUNK_BYTES = 16 * 2**20
# Level 1 already takes repeated keys down by a factor of ten; more would cost more than accepting the lines did.
COMPRESSION_LEVEL = 1
MARKS = "marks.json"


class Position(NamedTuple):
    """A place in the log: a segment and how many bytes of its lines lie before. Survives compression."""

    segment: int
    offset: int


START = Position(0, 0)


class Chunk(NamedTuple):
    """Some whole lines of one segment, and the places where they begin and end."""

    data: bytes
    start: Position
    end: Position


class DiskFull(OSError):
    """There is no room for more lines. Nothing of what was refused is stored; try again when there is room."""


class LineLog:
    """Appends lines durably and reads them back in bounded chunks.

    One thread appends. Others may read, compress and drop sealed segments at the same time.
    """

    def __init__(
        self,
        directory: Path,
        *,
        segment_bytes: int = 64 * 2**20,
        fsync: bool = True,
        min_free_bytes: int = 0,
        retain_bytes: int = 0,
        retain_days: float = 0.0,
    ) -> None:
        self.directory = directory
        self._segment_bytes = segment_bytes
        self._fsync = fsync
        self._min_free_bytes = min_free_bytes
        self._retain_bytes = retain_bytes
        self._retain_days = retain_days
        # Held for each change of the set of segments, and for each append.
        self._lock = threading.RLock()
        # Held while sealed segments are compressed, dropped or rewritten.
        self._tidying = threading.Lock()
        directory.mkdir(parents=True, exist_ok=True)
        self._clean()
        self._segments = numbered(directory)
        self.bookmarks = Bookmarks(directory)
        self._file = -1
        self._dirty = False
        self.end = self._open_last()

    # -- writing

    def append(self, data: bytes) -> Position:
        """Add whole lines; they are durable when this returns. Returns the place after them."""
        with self._lock:
            self.check_room(len(data))
            if self.end.offset and self.end.offset + len(data) > self._segment_bytes:
                self.rotate()
            try:
                self._cut_refused()
                self._dirty = True
                _write_all(self._file, data)
                if self._fsync:
                    os.fdatasync(self._file)
                self._dirty = False
            except OSError as error:
                self._give_back()
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise self._full(f"writing failed: {error.strerror}") from error
                raise
            self.end = Position(self.end.segment, self.end.offset + len(data))
            return self.end

    def check_room(self, size: int) -> None:
        """Raise `DiskFull` when `size` more bytes would leave less than the free space that has to remain."""
        if self._min_free_bytes:
            free = shutil.disk_usage(self.directory).free
            if free - size < self._min_free_bytes:
                raise self._full(f"{free} bytes are free and {self._min_free_bytes} have to stay free")

    def rotate(self, at_least: int = 0) -> Position:
        """Seal the active segment and begin the next, numbered `at_least` or higher. An empty one is kept."""
        with self._lock:
            if not self.end.offset and self.end.segment >= at_least:
                return self.end
            self._cut_refused()
            os.close(self._file)
            self._file = -1
            try:
                self.end = self._begin(max(self.end.segment + 1, at_least))
            except OSError as error:
                self._file = os.open(self._segments[self.end.segment], os.O_WRONLY | os.O_APPEND)
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise self._full(f"a new segment cannot be made: {error.strerror}") from error
                raise
            return self.end

    def close(self) -> None:
        """Let go of the active segment."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    # -- reading

    def chunks(self, start: Position = START, limit: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """Yield the lines from `start` to the present end, in order, about `limit` bytes at a time."""
        stop = self.end
        with self._lock:
            wanted = [number for number in sorted(self._segments) if start.segment <= number <= stop.segment]
        for number in wanted:
            offset = start.offset if number == start.segment else 0
            end = stop.offset if number == stop.segment else None
            with self._lock:
                # Opened under the lock: compression and dropping take the name away, never the open file.
                path = self._segments.get(number)
                stream = open_stream(path) if path else None
            if stream is None:
                continue
            with stream:
                for data, after in pieces(stream, offset, limit, end):
                    yield Chunk(data, Position(number, after - len(data)), Position(number, after))

    def remaining(self, start: Position = START) -> int:
        """How many bytes of lines lie between `start` and the end."""
        with self._lock:
            segments = [(number, path) for number, path in self._segments.items() if number >= start.segment]
            total = sum(self.end.offset if number == self.end.segment else length(path) for number, path in segments)
            if start.segment in self._segments:
                total -= start.offset
        return max(total, 0)

    def segments(self) -> list[int]:
        """The numbers of the segments that exist, oldest first."""
        with self._lock:
            return sorted(self._segments)

    def disk_bytes(self) -> int:
        """What the log takes on disk."""
        with self._lock:
            return sum(path.stat().st_size for path in self._segments.values())

    # -- keeping it small

    def compress(self, projected: Position) -> int:
        """Compress sealed segments that lie wholly before `projected`; returns how many."""
        done = 0
        for number in self._sealed(projected):
            with self._tidying:
                path = self._segments.get(number)
                if path is None or path.suffix != ".jsonl":
                    continue
                packed = path.with_name(path.name + ".zst")
                self._write(packed, _blocks(path), path, length(path)).replace(packed)
                sync_directory(self.directory)
                with self._lock:
                    self._segments[number] = packed
                    path.unlink()
                done += 1
        return done

    def expired(self, projected: Position) -> int:
        """The number up to which segments are over the limits of size or age and may be dropped; 0 for none."""
        with self._lock:
            over = (self.disk_bytes() - self._retain_bytes) if self._retain_bytes else 0
            too_old = time.time() - self._retain_days * 86400 if self._retain_days else 0.0
            last = 0
            for number in self._sealed(projected):
                about = self._segments[number].stat()
                if over <= 0 and about.st_mtime >= too_old:
                    break
                over -= about.st_size
                last = number
            return last

    def drop(self, through: int) -> list[int]:
        """Remove the sealed segments numbered up to `through`."""
        with self._tidying, self._lock:
            gone = [number for number in sorted(self._segments) if number <= through and number != self.end.segment]
            for number in gone:
                self.bookmarks.pass_over(number, length(self._segments[number]))
                self._segments.pop(number).unlink()
        if gone:
            sync_directory(self.directory)
            logger.info("log: dropped %d segments up to %d, over the limits of size or age", len(gone), through)
        return gone

    def rewrite(self, number: int, keep: Callable[[bytes], bytes]) -> None:
        """Pass a sealed segment's lines through `keep` and put what it returns in the segment's place, or nothing."""
        if number >= self.end.segment:
            raise ValueError(f"segment {number} is still being written; rotate the log first")
        with self._tidying:
            move = self.bookmarks.moving(number)
            self._rewrite(self._segments[number], move.watch(keep), move.done)

    # -- marks that outlive their lines

    def kept_marks(self) -> dict[str, int]:
        """High-water marks of processes whose lines have been dropped or deleted."""
        path = self.directory / MARKS
        return msgspec.json.decode(path.read_bytes(), type=dict[str, int]) if path.exists() else {}

    def keep_marks(self, marks: dict[str, int]) -> None:
        """Remember marks beyond the life of the lines they were taken from."""
        replace_durably(self.directory / MARKS, msgspec.json.encode({**self.kept_marks(), **marks}))

    # -- inner parts

    def _sealed(self, projected: Position) -> list[int]:
        with self._lock:
            return [number for number in sorted(self._segments) if number < min(projected.segment, self.end.segment)]

    def _rewrite(self, path: Path, keep: Callable[[bytes], bytes], done: Callable[[], None]) -> None:
        changed = False

        def kept() -> Iterator[bytes]:
            nonlocal changed
            with open_stream(path) as stream:
                for data, _ in pieces(stream, 0, CHUNK_BYTES):
                    left = keep(data)
                    changed = changed or len(left) != len(data)
                    yield left

        part = self._write(path, kept(), path)
        if changed:
            with self._lock:
                # Bookmarks first: killed in between, something is read twice rather than never.
                done()
                part.replace(path)
            sync_directory(self.directory)
        else:
            part.unlink()

    def _write(self, target: Path, data: Iterator[bytes], source: Path, size: int = -1) -> Path:
        part = target.with_name(target.name + PART)
        with part.open("wb") as stream:
            if target.suffix == ".zst":
                compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
                with compressor.stream_writer(stream, size=size, closefd=False) as sink:
                    for piece in data:
                        sink.write(piece)
            else:
                stream.writelines(data)
            stream.flush()
            os.fsync(stream.fileno())
        # The times say how old the lines are, which is what retention by age goes by.
        about = source.stat()
        os.utime(part, ns=(about.st_atime_ns, about.st_mtime_ns))
        return part

    def _clean(self) -> None:
        for path in self.directory.glob("*" + PART):
            path.unlink()
        for packed in self.directory.glob("*.jsonl.zst"):
            # Killed between the rename of the copy and the removal of the original: the copy is whole.
            packed.with_suffix("").unlink(missing_ok=True)

    def _open_last(self) -> Position:
        last = max(self._segments, default=0)
        if not last or self._segments[last].suffix != ".jsonl":
            return self._begin(last + 1)
        path = self._segments[last]
        size = path.stat().st_size
        keep = _whole_lines(path, size)
        if keep < size:
            logger.warning("log: %s ended in %d bytes of an unfinished line; cut", path.name, size - keep)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND)
        if keep < size:
            os.ftruncate(self._file, keep)
        # What a killed collector wrote and did not sync is read as if it had been acknowledged, so make it so.
        os.fsync(self._file)
        return Position(last, keep)

    def _begin(self, number: int) -> Position:
        path = segment_path(self.directory, number)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            sync_directory(self.directory)
        except OSError:
            os.close(self._file)
            raise
        self._segments[number] = path
        return Position(number, 0)

    def _give_back(self) -> None:
        try:
            self._cut_refused()
        except OSError as error:
            logger.warning("log: cannot cut a refused write yet (%s); the next append tries again", error)

    def _cut_refused(self) -> None:
        if self._dirty:
            os.ftruncate(self._file, self.end.offset)
            self._dirty = False

    def _full(self, why: str) -> DiskFull:
        return DiskFull(
            errno.ENOSPC,
            f"no room for more lines in {self.directory}: {why}. Senders keep what was refused; "
            "free some space, delete a run, or lower collector.retain_bytes or collector.min_free_bytes",
        )


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            yield block


def _whole_lines(path: Path, size: int) -> int:
    """The size of a segment without what follows its last complete line."""
    with path.open("rb") as stream:
        end = size
        while end:
            start = _newline_before(stream, end)
            if start == end:
                stream.seek(before := _newline_before(stream, end - 1))
                try:
                    decode_lines(stream.read(end - before))
                except BadLine:
                    end = before
                    continue
                return end
            end = start
    return 0


def _newline_before(stream: io.BufferedReader, end: int) -> int:
    """The offset just after the last newline in the first `end` bytes, 0 when there is none."""
    while end > 0:
        start = max(0, end - 2**16)
        stream.seek(start)
        found = stream.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
