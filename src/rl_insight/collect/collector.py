"""The collector: takes batches, keeps each line once, and answers when the log has them.

One writer thread does it all in groups: check what is waiting, append it with one write, sync once, answer everyone.
"""

from __future__ import annotations

import logging
import queue
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path

import msgspec

from rl_insight import config
from rl_insight.collect.accept import Checked, check
from rl_insight.collect.log import START, DiskFull, LineLog, Position
from rl_insight.collect.marks import Marks
from rl_insight.schema import BadLine

logger = logging.getLogger(__name__)

GROUP_BYTES = 32 * 2**20
TAIL_BYTES = 4 * 2**20


class Busy(Exception):
    """More is waiting to be stored than the limit allows; send again in a moment."""


class Stopping(Exception):
    """The collector is about to end; send again when it is back."""


class Accepted(msgspec.Struct, frozen=True):
    """The answer to a batch: every line of it is in the log now."""

    accepted: int
    duplicates: int


class CollectorStatus(msgspec.Struct, kw_only=True):
    """What the collector has done since it started, and how it is."""

    state: str  # ok, disk full, stopping
    started: float
    accepted: int
    duplicates: int
    batches: int
    refused: int
    bytes: int
    syncs: int
    pending_bytes: int
    processes: int
    segments: int
    log_bytes: int
    free_bytes: int
    segment: int
    offset: int
    last_error: str | None = None


class Subscription:
    """Lines as they are acknowledged. A reader that falls behind is told how many it has missed."""

    def __init__(self, limit: int, notify: Callable[[], None] | None, leave: Callable[[Subscription], None]) -> None:
        self._limit = limit
        self._notify = notify
        self._leave = leave
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._skipped = 0
        self._closed = False
        self._changed = threading.Condition()

    def get(self, timeout: float | None = None) -> bytes | None:
        """The lines that came since the last call; waits for some. `b""` after `timeout`, None once closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._skipped or self._closed, timeout)
            return self._take()

    def take(self) -> bytes | None:
        """As `get`, without waiting. For use with `notify`."""
        with self._changed:
            return self._take()

    def close(self) -> None:
        """Take part no longer."""
        self._leave(self)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._tell()

    def put(self, lines: bytes, count: int) -> None:
        """Offer lines; the collector calls it. Never waits."""
        with self._changed:
            # Once something was skipped, go on skipping until it has been said, so that the gap is where it is told.
            if self._skipped or (self._waiting and self._bytes + len(lines) > self._limit):
                self._skipped += count
            else:
                self._waiting.append(lines)
                self._bytes += len(lines)
            self._changed.notify_all()
        self._tell()

    def _take(self) -> bytes | None:
        if self._closed and not self._waiting:
            return None
        lines = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        if self._skipped:
            lines += b'{"skipped":%d}\n' % self._skipped
            self._skipped = 0
        return lines

    def _tell(self) -> None:
        if self._notify:
            try:
                self._notify()
            except RuntimeError:  # the reader's event loop has ended
                self._leave(self)


class _Batch(msgspec.Struct):
    body: bytes
    answer: Future[Accepted]


class Collector:
    """Owns the log and the marks. `submit` may be called from any thread and returns at once."""

    def __init__(self, log: LineLog, marks: Mapping[str, int], *, max_pending_bytes: int = 256 * 2**20) -> None:
        self.log = log
        self._marks = Marks(marks)
        self._max_pending_bytes = max_pending_bytes
        self._inbox: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending_bytes = 0
        self._stopping = False
        self._subscriptions: list[Subscription] = []
        self._started = time.time()
        self._accepted = self._duplicates = self._batches = self._refused = self._bytes = self._syncs = 0
        self._full = False
        self._last_error: str | None = None
        self._writer = threading.Thread(target=self._run, name="rl-insight-collector", daemon=True)
        self._writer.start()

    @classmethod
    def open(
        cls,
        data_dir: Path,
        settings: config.Collector | None = None,
        *,
        marks: Mapping[str, int] | None = None,
        projected: Position = START,
    ) -> Collector:
        """Open the log in `data_dir` and learn what is stored: the store's `marks`, and the log after `projected`."""
        settings = settings or config.Collector()
        log = LineLog(
            data_dir / "log",
            segment_bytes=settings.segment_bytes,
            fsync=settings.fsync,
            min_free_bytes=settings.min_free_bytes,
            retain_bytes=settings.retain_bytes,
            retain_days=settings.retain_days,
        )
        known = Marks(log.kept_marks())
        known.raise_to(marks or {})
        for chunk in log.chunks(projected):
            known.learn(chunk.data)
        if projected > log.end:
            # The store has seen more than the log has kept (a power cut without fsync, a log taken away). New lines
            # must not be put where the projection believes it has been.
            log.rotate(at_least=projected.segment + 1)
        return cls(log, known.of(known), max_pending_bytes=settings.max_pending_bytes)

    def submit(self, body: bytes) -> Future[Accepted]:
        """Hand in a batch. The future has `Accepted` when the log has it, or `BadLine`, `DiskFull`, `OSError`.

        Raises `Busy` and `Stopping` right away; nothing has been kept then.
        """
        answer: Future[Accepted] = Future()
        with self._lock:
            if self._stopping:
                raise Stopping("the collector is stopping; send the batch again when it is back")
            if self._pending_bytes and self._pending_bytes + len(body) > self._max_pending_bytes:
                raise Busy(f"{self._pending_bytes} bytes are waiting to be stored; send the batch again in a moment")
            self._pending_bytes += len(body)
            self._inbox.put(_Batch(body, answer))
        return answer

    def mark(self, proc: str) -> int:
        """The highest `seq` the log has of a process; for who writes lines in its name."""
        return self._marks.get(proc)

    def subscribe(self, notify: Callable[[], None] | None = None, *, limit: int = TAIL_BYTES) -> Subscription:
        """Follow the lines from now on. `notify` is called from the writer thread when there is something to take."""
        subscription = Subscription(limit, notify, self._unsubscribe)
        with self._lock:
            self._subscriptions = [*self._subscriptions, subscription]
        return subscription

    def status(self) -> CollectorStatus:
        """How the collector is."""
        end = self.log.end
        return CollectorStatus(
            state="stopping" if self._stopping else "disk full" if self._full else "ok",
            started=self._started,
            accepted=self._accepted,
            duplicates=self._duplicates,
            batches=self._batches,
            refused=self._refused,
            bytes=self._bytes,
            syncs=self._syncs,
            pending_bytes=self._pending_bytes,
            processes=len(self._marks),
            segments=len(self.log.segments()),
            log_bytes=self.log.disk_bytes(),
            free_bytes=shutil.disk_usage(self.log.directory).free,
            segment=end.segment,
            offset=end.offset,
            last_error=self._last_error,
        )

    def stop(self) -> None:
        """Refuse new batches and finish those that are waiting. The log stays open for reading."""
        with self._lock:
            if not self._stopping:
                self._stopping = True
                self._inbox.put(None)
        self._writer.join()
        for subscription in self._subscriptions:
            subscription.close()

    def close(self) -> None:
        """Stop, and let go of the log."""
        self.stop()
        self.log.close()

    # -- the writer thread

    def _run(self) -> None:
        while (first := self._inbox.get()) is not None:
            group, last = self._gather(first)
            try:
                self._store(group)
            except Exception as error:
                logger.exception("collector: a group of %d batches could not be stored", len(group))
                self._fail(group, error)
            finally:
                self._marks.forget()
                with self._lock:
                    self._pending_bytes -= sum(len(batch.body) for batch in group)
            if last:
                return

    def _gather(self, first: _Batch) -> tuple[list[_Batch], bool]:
        """What is waiting, up to a limit: the slower the disk, the larger the groups."""
        group, size = [first], len(first.body)
        while size < GROUP_BYTES:
            try:
                batch = self._inbox.get_nowait()
            except queue.Empty:
                break
            if batch is None:
                return group, True
            group.append(batch)
            size += len(batch.body)
        return group, False

    def _store(self, group: list[_Batch]) -> None:
        # A batch that nobody waits for any more may be dropped: it was not acknowledged.
        group = [batch for batch in group if batch.answer.set_running_or_notify_cancel()]
        try:
            self.log.check_room(sum(len(batch.body) for batch in group))
            checked = self._check(group)
            data = b"".join([one.data for _, one in checked])
            if data:
                self.log.append(data)
                self._syncs += 1
        except OSError as error:
            self._full = isinstance(error, DiskFull)
            self._note(error)
            self._fail(group, error)
            return
        self._full = False
        self._marks.commit()
        accepted = sum(one.accepted for _, one in checked)
        self._accepted += accepted
        self._duplicates += sum(one.duplicates for _, one in checked)
        self._batches += len(checked)
        self._bytes += len(data)
        for batch, one in checked:
            batch.answer.set_result(Accepted(one.accepted, one.duplicates))
        if data:
            for subscription in self._subscriptions:
                subscription.put(data, accepted)

    def _check(self, group: list[_Batch]) -> list[tuple[_Batch, Checked]]:
        checked = [(batch, self._check_one(batch)) for batch in group]
        return [(batch, one) for batch, one in checked if one is not None]

    def _check_one(self, batch: _Batch) -> Checked | None:
        try:
            one = check(batch.body, self._marks)
        except BadLine as bad:
            self._refused += 1
            batch.answer.set_exception(bad)
            return None
        self._marks.stage(one.marks)
        return one

    def _fail(self, group: list[_Batch], error: Exception) -> None:
        for batch in group:
            if not batch.answer.done():
                batch.answer.set_exception(error)

    def _note(self, error: Exception) -> None:
        text = str(error)
        if text != self._last_error:
            logger.error("collector: %s", text)
        self._last_error = text

    def _unsubscribe(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions = [one for one in self._subscriptions if one is not subscription]
