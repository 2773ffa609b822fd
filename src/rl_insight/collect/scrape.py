"""Reads the metrics of registered targets at an interval, and records them with the run they belong to.

One thread plans and records; each read has a thread of its own, of which there are few. A dead or slow target costs
such a thread its time-out, less and less often, and nobody else anything.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from rl_insight import config
from rl_insight.collect.engine import Orphan, Recording, Run, Series, Submit, finished
from rl_insight.collect.exposition import BadBody, Reader, Sample
from rl_insight.collect.fetch import Fetch, FetchFailed
from rl_insight.collect.targets import Target, Targets

logger = logging.getLogger(__name__)

READERS = 16
# Whether a run goes on is asked so often; and so often whether a killed server left something, when nothing is read.
LOOK_SECONDS = 1.0
IDLE_LOOK_SECONDS = 30.0
HEARTBEAT_SECONDS = 5.0
# A target that fails is asked after 2, 4, and at last 8 intervals.
MOST_PATIENCE = 8


class State(msgspec.Struct, kw_only=True):
    """How reading a target goes. `waiting`: its run has not begun, or is over; `off`: nothing is read."""

    state: Literal["new", "up", "down", "waiting", "off"] = "new"
    run: str | None = None
    last_scrape: float | None = None
    last_error: str | None = None
    scrapes: int = 0
    failures: int = 0
    bad_bodies: int = 0
    series: int = 0
    skipped_series: int = 0
    seconds: float | None = None


class Cluster(msgspec.Struct):
    """What the store knows: runs that go on, the newest first, and processes of ours that were never finished."""

    runs: list[Run] = []
    orphans: list[Orphan] = []


class _Known:
    """A target, how reading it goes, and what is remembered between two reads."""

    def __init__(self, target: Target, settings: config.Scrape) -> None:
        self.target = target
        self.state = State()
        self.series = Series(target, settings.max_series)
        self.reader = Reader(drop=settings.drop, buckets=settings.buckets)
        self.due = 0.0
        self.patience = 1
        self.answered = time.monotonic()
        self.fetch: Fetch | None = None


class _Read(msgspec.Struct):
    known: Any
    began: int
    seconds: float
    samples: list[Sample] | None
    error: str | None
    bad_body: bool = False


class Scraper:
    """Reads targets until it is stopped. `look` asks the store which runs go on."""

    def __init__(self, submit: Submit, targets: Targets, settings: config.Scrape, look: Callable[[], Cluster]) -> None:
        self.settings = settings
        self._submit = submit
        self._targets = targets
        self._look = look
        self._known: dict[tuple[str, str, str], _Known] = {}
        self._flying: list[_Known] = []
        self._recordings: dict[str, Recording] = {}
        self._live: dict[str, Run] = {}
        self._looked = 0.0
        self._reads: queue.SimpleQueue[_Read | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read."""
        if self.settings.enabled and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="rl-insight-scraper", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Read no more, and say so in every run; call it while the collector still takes batches."""
        self._stopping = True
        self._reads.put(None)
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with self._lock:
            for recording in self._recordings.values():
                recording.finish()
            self._recordings = {}

    def wake(self) -> None:
        """Look at the targets now: some were added or removed."""
        self._reads.put(None)

    def forget_run(self, run: str) -> None:
        """Drop a run that is about to be deleted: nothing more may be written of it."""
        with self._lock:
            self._recordings.pop(run, None)
            self._live.pop(run, None)
        self._targets.remove(run=run)

    def state(self, target: Target) -> State:
        """How reading a target goes."""
        if not self.settings.enabled:
            return State(state="off", run=target.run)
        known = self._known.get(target.key)
        return known.state if known is not None and known.target == target else State(run=target.run)

    # -- the thread that plans and records

    def _run(self) -> None:
        while not self._stopping:
            self._take(self._safe_turn())

    def _safe_turn(self) -> float:
        try:
            return self._turn()
        except Exception:  # whatever it was must not end the reading of all targets
            logger.exception("scrape: a turn failed; the next one follows")
            return LOOK_SECONDS

    def _turn(self) -> float:
        """Look around, start the reads that are due, end those that are late; say how long there is nothing to do."""
        now = time.monotonic()
        self._keep_up()
        if now - self._looked >= (LOOK_SECONDS if self._known or self._recordings else IDLE_LOOK_SECONDS):
            self._look_around()
            self._looked = now
        for known in self._flying:
            assert known.fetch is not None
            if now > known.fetch.deadline:
                known.fetch.end()
        soonest = now + LOOK_SECONDS
        for known in sorted(self._known.values(), key=lambda one: one.due):
            if known.fetch is None and known.due <= now:
                if len(self._flying) < READERS and self._run_of(known) is not False:
                    self._begin(known, now)
            elif known.fetch is None:
                soonest = min(soonest, known.due)
        if self._flying:
            soonest = min(soonest, now + 0.1)
        return max(0.02, soonest - time.monotonic())

    def _look_around(self) -> None:
        found = self._look()
        with self._lock:
            self._live = {run.run: run for run in reversed(found.runs)}
            for run in [run for run in self._recordings if run not in self._live]:
                self._recordings.pop(run).finish()
            mine = {recording.proc for recording in self._recordings.values()}
            for recording in self._recordings.values():
                recording.beat()
        for orphan in found.orphans:
            if orphan.proc not in mine:
                self._submit(finished(orphan))

    def _keep_up(self) -> None:
        """Follow what was registered and removed, and forget targets whose run is over and that answer no more."""
        wanted = {one.key: one for one in self._targets.all()}
        for key in [key for key, known in self._known.items() if wanted.get(key) != known.target]:
            del self._known[key]
        for key, target in wanted.items():
            if key not in self._known:
                self._known[key] = _Known(target, self.settings)
                self._looked = 0.0  # its run may have begun a moment ago
        now, patience = time.monotonic(), self.settings.forget
        silent = [
            known.target
            for known in self._known.values()
            if patience and known.target.run is not None and now - known.answered > patience
        ]
        if silent:
            self._targets.discard(silent)
            for target in silent:
                logger.info("scrape: %s has not answered for %g s and is forgotten", target.url, patience)

    def _run_of(self, known: _Known) -> Run | Literal[False] | None:
        """The run a target belongs to, None when nobody said and none goes on, False when its own does not go on.

        A target that names no run belongs to the run that began last.
        """
        wanted = known.target.run
        if wanted is None:
            return next(reversed(self._live.values()), None)
        run = self._live.get(wanted)
        if run is None:
            known.state = msgspec.structs.replace(known.state, state="waiting", run=wanted)
            return False
        return run

    def _begin(self, known: _Known, now: float) -> None:
        settings = self.settings
        known.fetch = Fetch(known.target.url, timeout=settings.timeout, max_bytes=settings.max_bytes)
        known.due = now + settings.interval
        self._flying.append(known)
        threading.Thread(target=self._read, args=(known, known.fetch), name="rl-insight-scrape", daemon=True).start()

    def _read(self, known: _Known, fetch: Fetch) -> None:
        """In a thread of its own: one request, and its text as samples."""
        began, started = time.time_ns(), time.monotonic()
        read = _Read(known, began, 0.0, None, None)
        try:
            read.samples = known.reader.read(*fetch.read())
        except FetchFailed as failed:
            read.error = str(failed)
        except BadBody as bad:
            read.error, read.bad_body = f"{fetch.url}: {bad}", True
        except Exception as error:
            read.error = f"{fetch.url} could not be read: {type(error).__name__}: {error}"
        read.seconds = time.monotonic() - started
        self._reads.put(read)

    def _take(self, seconds: float) -> None:
        """Wait for reads, and record them."""
        try:
            read = self._reads.get(timeout=seconds)
        except queue.Empty:
            return
        if read is not None and not self._stopping:
            try:
                self._note(read)
            except Exception:
                logger.exception("scrape: what %s answered could not be recorded", read.known.target.url)

    def _note(self, read: _Read) -> None:
        known: _Known = read.known
        known.fetch = None
        self._flying.remove(known)
        before = known.state
        state = msgspec.structs.replace(
            before, last_scrape=read.began / 1e6, scrapes=before.scrapes + 1, seconds=read.seconds
        )
        if read.samples is None:
            if before.last_error is None:
                logger.warning("scrape: %s", read.error)
            known.patience = min(2 * known.patience, MOST_PATIENCE)
            known.due += (known.patience - 1) * self.settings.interval
            known.state = msgspec.structs.replace(
                state,
                state="down",
                last_error=read.error,
                failures=before.failures + 1,
                bad_bodies=before.bad_bodies + read.bad_body,
            )
            return
        known.patience = 1
        known.answered = time.monotonic()
        run = self._run_of(known)
        points, remembered = known.series.points(read.samples, gap=3 * MOST_PATIENCE * self.settings.interval)
        if run and self._record(run, points, read.began):
            known.series.remember(remembered)
        known.state = msgspec.structs.replace(
            state,
            state="up",
            run=run.run if run else known.target.run,
            last_error=None,
            series=known.series.seen,
            skipped_series=known.series.skipped,
        )

    def _record(self, run: Run, points: list[tuple[Sample, dict[str, str]]], ts: int) -> bool:
        with self._lock:
            if run.run not in self._live:
                return False
            recording = self._recordings.get(run.run)
            if recording is None:
                recording = self._recordings[run.run] = Recording(run, self._submit, HEARTBEAT_SECONDS)
            return recording.record(points, ts)
