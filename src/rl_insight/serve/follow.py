"""Follows line files as they grow: for the tail of a folder, with a server or without."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rl_insight.collect import line_files, read_lines

POLL_SECONDS = 0.2


def follow_files(folder: Path, ended: Callable[[], bool] = lambda: False) -> Iterator[bytes]:
    """Whole lines that are appended to line files below `folder` from now on, and all lines of new files."""
    offsets = {file.source: end_of_lines(file.path) for file in line_files(folder)}
    while not ended():
        for file in line_files(folder):
            # Compressed files are finished ones: what is in them has been shown.
            if file.path.suffix != ".jsonl":
                continue
            for data, after in read_lines(file.path, offsets.get(file.source, 0)):
                offsets[file.source] = after
                yield data
        time.sleep(POLL_SECONDS)


def end_of_lines(path: Path) -> int:
    """Where the last whole line ends: what is being written now is shown when it is complete."""
    with path.open("rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 2**16)
            stream.seek(start)
            found = stream.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0
