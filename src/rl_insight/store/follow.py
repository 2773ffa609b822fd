"""Projects line files without a collector: `open DIR`. The same store, the same projection, other positions."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb

from rl_insight.collect import Bad, Chunk, LineFile, Position, line_files, read_lines
from rl_insight.collect.accept import check
from rl_insight.collect.marks import Marks
from rl_insight.store.database import Store
from rl_insight.store.projection import Projection

logger = logging.getLogger(__name__)

CHUNK_BYTES = 16 * 2**20
_KEPT_BAD = 100


class FileProjector:
    """Projects the line files below a directory into a store, and follows them as they grow."""

    def __init__(self, store: Store, directory: Path, *, interval: float = 0.5) -> None:
        self._store = store
        self._directory = directory
        self._interval = interval
        self._projection = Projection(store)
        self._marks = Marks(store.marks())
        self._positions = store.positions()
        self._seen: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.lines = 0
        self.duplicates = 0
        self.bad_lines = 0
        self.bad: list[Bad] = []
        self.last_error: str | None = None

    def catch_up(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Project what the files hold now and the store does not; returns how many lines that was."""
        with self._lock:
            before = self.lines
            files = line_files(self._directory)
            total = sum(file.size() for file in files)
            done = 0
            for file in files:
                reached = self._project(file, progress, done, total)
                done += max(file.size(), reached)
                if progress:
                    progress(min(done, total), total)
            return self.lines - before

    def start(self) -> None:
        """Follow the files from now on."""
        self._thread = threading.Thread(target=self._follow, name="rl-insight-files", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop following."""
        self._stop.set()
        if self._thread:
            self._thread.join()
        self._projection.close()

    def _project(self, file: LineFile, progress: Callable[[int, int], None] | None, done: int, total: int) -> int:
        about = file.path.stat()
        offset = self._positions.get(file.source, Position(0, 0)).offset
        if self._seen.get(file.source) == (about.st_mtime_ns, about.st_size):
            return offset
        if file.path.suffix == ".jsonl" and about.st_size < offset:
            logger.warning("%s has become shorter; it is read from its beginning", file.path)
            offset = 0
        for data, after in read_lines(file.path, offset, limit=CHUNK_BYTES, on_bad=self._note_bad):
            checked = check(data, self._marks)
            # What lies between is not in `data`, so positions inside the chunk are estimates; marks sort out the rest.
            chunk = Chunk(checked.data, Position(0, offset), Position(0, after))
            if checked.accepted:
                self.lines += self._projection.project(chunk, file.source).lines
            else:
                self._projection.advance(chunk.end, file.source)
            self._marks.stage(checked.marks)
            self._marks.commit()
            self.duplicates += checked.duplicates
            self._positions[file.source] = chunk.end
            offset = after
            if progress:
                progress(min(done + after, total), total)
        self._seen[file.source] = (about.st_mtime_ns, about.st_size)
        return offset

    def _note_bad(self, bad: Bad) -> None:
        self.bad_lines += 1
        if len(self.bad) < _KEPT_BAD:
            self.bad.append(bad)
            logger.warning("%s, at byte %d: %s; left out", bad.path, bad.offset, bad.problem)

    def _follow(self) -> None:
        while not self._stop.wait(self._interval):
            self.last_error = self._try(self.last_error)

    def _try(self, last_error: str | None) -> str | None:
        try:
            self.catch_up()
        except (duckdb.Error, OSError) as error:
            if str(error) != last_error:
                logger.error("files: %s; trying again", error)
            return str(error)
        return None
