"""A sink that writes lines to a file; `rl-insight open DIR` shows them, with no collector anywhere."""

import contextlib
import os
from pathlib import Path

from rl_insight.ship.sink import Ack, Batch, Unavailable


class FileSink:
    """Appends to `DIR/lines-PROC.jsonl`: one file a process, so that no two processes share one."""

    destination = ""

    def __init__(self, folder: Path, proc: str) -> None:
        self.path = folder / f"lines-{proc}.jsonl"
        self._file: int | None = None
        self._size = 0

    def send(self, batch: Batch) -> Ack:
        """Append a batch whole, or leave the file as it was."""
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                # The file is ours alone: what is in it beyond our lines is what a failed write left.
                self._size = min(self._size, os.fstat(self._file).st_size)
                os.ftruncate(self._file, self._size)
            rest = memoryview(batch.body)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            self._undo()
            raise Unavailable(f"cannot write {self.path}: {error.strerror or error}") from None
        self._size += len(batch.body)
        return Ack(batch.lines)

    def close(self) -> None:
        """Put the file on disk and let go of it."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # a full or vanished disk: what could be written is written
                os.fsync(self._file)
            os.close(self._file)
            self._file = None

    def abandon(self) -> None:
        """In a forked child: the file is the parent's."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def describe(self) -> str:
        """Where the lines go."""
        return str(self.path)

    def _undo(self) -> None:
        """Cut off what a failed write left behind, so that a retry does not follow half a line."""
        if self._file is not None:
            try:
                os.ftruncate(self._file, self._size)
            except OSError:
                os.close(self._file)
                self._file = None
