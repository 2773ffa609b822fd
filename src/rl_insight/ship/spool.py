"""Lines that could not be delivered wait here on disk, in order, and survive the process.

A process's spool is a folder of line files. Its owner holds a lock on it while it lives; when that is gone, the
next process on the node takes the folder over and delivers what is in it. What had been delivered before is sent
twice then, and the collector stores it once.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

_FILE_BYTES = 16 * 2**20


class SpoolFull(Exception):
    """The spool has no room: its limit is reached, or the disk is full or not writable."""


class Spool:
    """A first-in, first-out file of lines with a limit, for one process."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.bytes = 0
        self._lock: int | None = None
        self._written: list[int] = []  # file numbers, oldest first
        self._sizes: dict[int, int] = {}
        self._read_at = 0  # offset in the oldest file
        self._next = 1

    def __bool__(self) -> bool:
        return bool(self._written)

    @classmethod
    def take_over(cls, folder: Path) -> Spool | None:
        """The spool of a process that is gone, or None while its owner lives."""
        spool = cls(folder, 0)
        if not spool._acquire():
            return None
        for path in sorted(folder.glob("*.jsonl")):
            if path.stem.isdigit():
                number = int(path.stem)
                spool._written.append(number)
                spool._sizes[number] = path.stat().st_size
                spool.bytes += spool._sizes[number]
                spool._next = number + 1
        return spool

    def has_room(self) -> bool:
        """Whether another batch may be put in."""
        return self.bytes < self.limit

    def put(self, body: bytes, *, reserved: bool = False) -> None:
        """Append lines, whole or not at all. `reserved` goes over the limit, for the last lines of a process."""
        if not reserved and self.bytes + len(body) > self.limit:
            raise SpoolFull(f"{self.folder} holds its limit of {self.limit} bytes")
        try:
            if not self._acquire():
                raise SpoolFull(f"{self.folder} is in use by another process")
            fresh = not self._written or self._sizes[self._written[-1]] >= _FILE_BYTES
            number = self._next if fresh else self._written[-1]
            _append_whole(self._path(number), 0 if fresh else self._sizes[number], body)
        except OSError as error:
            raise SpoolFull(f"{self.folder}: {error.strerror or error}") from None
        if fresh:
            self._written.append(number)
            self._sizes[number] = 0
            self._next += 1
        self._sizes[number] += len(body)
        self.bytes += len(body)

    def peek(self, most: int) -> bytes:
        """The oldest lines, at most `most` bytes of them (one line at least); empty when there are none."""
        while self._written:
            try:
                piece = self._read(most)
            except FileNotFoundError:
                piece = b""
            if piece:
                return piece
            # Nothing whole is left: its writer was killed amid a line, or somebody removed the file.
            self._drop_oldest()
        return b""

    def advance(self, count: int) -> None:
        """Forget the oldest `count` bytes: they are delivered."""
        self._read_at += count
        if self._written and self._read_at >= self._sizes[self._written[0]]:
            self._drop_oldest()

    def close(self) -> None:
        """Let go of the folder; it is removed when it is empty."""
        if not self._written and self._lock is not None:
            with contextlib.suppress(OSError):
                self._lock_path.unlink()
                self.folder.rmdir()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def abandon(self) -> None:
        """In a forked child: let go of the parent's spool without touching it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def _lock_path(self) -> Path:
        return self.folder / "owner"

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.jsonl"

    def _read(self, most: int) -> bytes:
        """Whole lines from where we are in the oldest file, or nothing when there is none."""
        number = self._written[0]
        with self._path(number).open("rb") as file:
            file.seek(self._read_at)
            # Never past what was written whole: a failed write may have left something there.
            left = self._sizes[number] - self._read_at
            piece = file.read(min(most, left))
            end = piece.rfind(b"\n") + 1
            if not end:
                piece += file.readline(max(0, left - len(piece)))
                end = len(piece) if piece.endswith(b"\n") else 0
            return piece[:end]

    def _drop_oldest(self) -> None:
        number = self._written.pop(0)
        self.bytes -= self._sizes.pop(number)
        self._read_at = 0
        with contextlib.suppress(OSError):
            self._path(number).unlink()

    def _acquire(self) -> bool:
        if self._lock is not None:
            return True
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever looked for orphans in between may have found the folder empty and removed it.
            if not os.path.samestat(os.fstat(lock), self._lock_path.stat()):
                raise FileNotFoundError
        except OSError:
            os.close(lock)
            return False
        self._lock = lock
        return True


def orphans(parent: Path) -> Iterator[Spool]:
    """The spools under `parent` whose processes are gone, taken over one by one."""
    try:
        folders = sorted(path for path in parent.iterdir() if path.is_dir())
    except OSError:
        return
    for folder in folders:
        with contextlib.suppress(OSError):
            spool = Spool.take_over(folder)
            if spool is not None:
                yield spool


def _append_whole(path: Path, size: int, body: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.lseek(file, size, os.SEEK_SET)
        rest = memoryview(body)
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(file, size)
        raise
    finally:
        os.close(file)
