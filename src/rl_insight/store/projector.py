"""Follows the log: the thread that keeps the store up with it, and the one that keeps the log small."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import duckdb
import msgspec

from rl_insight.collect import START, LineLog, Position
from rl_insight.store.database import LOG, Store
from rl_insight.store.delete import Deleted, delete_run, finish_deletion, forget_segments, seed_marks
from rl_insight.store.projection import Projection

logger = logging.getLogger(__name__)

CHUNK_BYTES = 32 * 2**20
# Under load a chunk may fill up for a moment: the larger it is, the less a line costs. The moment is short while there
# is time to spare, so that lines are seen soon, and longest where speed is all that counts.
_WORTH_WAITING = 2**20
_PATIENCE = 1.0
_TIMES_ITS_WORK = 2.0
_TIDY_INTERVAL = 2.0
# A chunk that does not fit into the memory the store is allowed is halved, down to this.
_SMALLEST_CHUNK = 2**20
_LONGEST_PAUSE = 10.0
# After these DuckDB wants the file opened again. If that does not help so many times, the file itself is at fault.
_BROKEN = (duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException)
_STRIKES = 3


class ProjectorStatus(msgspec.Struct, kw_only=True):
    """How far the store has come."""

    state: str  # ok, behind, failing, stopped
    segment: int
    offset: int
    lag_bytes: int
    lag_seconds: float
    lines: int
    unreadable: int
    last_error: str | None = None


class Projector:
    """Projects a log into a store until stopped. It is the only one that writes to the store."""

    def __init__(self, store: Store, log: LineLog, *, interval: float = 0.2, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._store = store
        self._log = log
        self._interval = interval
        self._chunk_bytes = chunk_bytes
        # Held while the store is written to: by chunks, by retention, by the deletion of a run.
        self._writing = threading.RLock()
        self._position = store.position(LOG)
        self._lines = self._unreadable = 0
        self._caught_up = time.monotonic()
        self._took = 0.0
        self._last_error: str | None = None
        self._stop = threading.Event()
        self._stopped = False
        self._threads: list[threading.Thread] = []
        self._strikes = 0
        if self._position == START:
            seed_marks(store, log)
        finish_deletion(store, log)
        self._projection = Projection(store)

    @property
    def position(self) -> Position:
        """The place in the log up to which the store has everything."""
        return self._position

    def start(self) -> None:
        """Follow the log from now on."""
        for name, target in (("project", self._follow), ("tidy", self._tidy_now_and_then)):
            thread = threading.Thread(target=target, name=f"rl-insight-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self, *, catch_up: bool = True) -> None:
        """Stop following; project what is left first, unless told not to or it cannot be."""
        if self._stopped:
            return
        self._stopped = True
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        if catch_up:
            try:
                self.catch_up()
            except (duckdb.Error, OSError) as error:
                logger.warning("projector: %s; the rest is projected at the next start", error)
        self._projection.close()

    def catch_up(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Project everything the log holds now; returns how many lines that was."""
        with self._writing:
            total = self._log.remaining(self._position)
            done = before = 0
            for chunk in self._log.chunks(self._position, self._chunk_bytes):
                result = self._projection.project(chunk)
                self._position = chunk.end
                self._lines += result.lines
                self._unreadable += result.unreadable
                before += result.lines
                done += len(chunk.data)
                if progress:
                    progress(done, max(total, done))
            self._caught_up = time.monotonic()
            return before

    def tidy(self) -> None:
        """Compress what is projected and drop what is over the limits of size or age."""
        self._log.compress(self._position)
        through = self._log.expired(self._position)
        if through:
            with self._writing:
                # Rows first: killed in between, the segments are still there and go next time.
                forget_segments(self._store, self._log, through)
                self._projection.refresh()
            self._log.drop(through)

    def delete_run(self, run: str) -> Deleted:
        """Remove a run's lines from the store and from the log."""
        with self._writing:
            self._log.rotate()
            self.catch_up()
            self._position = max(self._position, Position(self._log.end.segment, 0))
            self._projection.advance(self._position)
            try:
                return delete_run(self._store, self._log, run)
            finally:
                self._projection.refresh()

    def status(self) -> ProjectorStatus:
        """How far the store has come."""
        lag = self._log.remaining(self._position)
        state = "stopped" if not self._threads else "failing" if self._last_error else "behind" if lag else "ok"
        return ProjectorStatus(
            state=state,
            segment=self._position.segment,
            offset=self._position.offset,
            lag_bytes=lag,
            lag_seconds=time.monotonic() - self._caught_up if lag else 0.0,
            lines=self._lines,
            unreadable=self._unreadable,
            last_error=self._last_error,
        )

    # -- the threads

    def _follow(self) -> None:
        pause = self._interval
        while not self._stop.wait(pause):
            if not self._worth_projecting():
                continue
            try:
                began = time.monotonic()
                self.catch_up()
                self._took = time.monotonic() - began
                pause = self._interval
                self._strikes = 0
                if self._last_error:
                    logger.info("projector: works again")
                self._last_error = None
            except Exception as error:
                pause = min(max(pause, 0.1) * 2, _LONGEST_PAUSE)
                self._complain(error)
                if isinstance(error, duckdb.OutOfMemoryException):
                    self._chunk_bytes = max(_SMALLEST_CHUNK, self._chunk_bytes // 2)
                self._strikes = self._strikes + 1 if isinstance(error, _BROKEN) else 0
                self._try(self._renew)

    def _worth_projecting(self) -> bool:
        lag = self._log.remaining(self._position)
        if not lag:
            self._caught_up = time.monotonic()
            return False
        waited = time.monotonic() - self._caught_up
        patience = min(_PATIENCE, self._took * _TIMES_ITS_WORK)
        return lag < _WORTH_WAITING or lag >= self._chunk_bytes or waited >= patience

    def _tidy_now_and_then(self) -> None:
        while not self._stop.wait(_TIDY_INTERVAL):
            self._try(self.tidy)

    def _renew(self) -> None:
        """After an error nothing is known of the connection; take a new one, and see what has been committed."""
        with self._writing:
            self._projection.close()
            if self._strikes:
                self._store.reopen(anew=self._strikes >= _STRIKES)
            self._position = self._store.position(LOG)
            if self._position == START:
                seed_marks(self._store, self._log)
            self._projection = Projection(self._store)

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        if text != self._last_error:
            logger.error("projector: %s; trying again, nothing is lost", text, exc_info=error)
        self._last_error = text
