"""Follows the log and sends what it finds to one destination. Has a thread and a bookmark of its own.

It reads what the collector has acknowledged, so it stands in nobody's way: what it has not sent stays in the log.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from rl_insight.collect import START, Chunk, LineLog, Position
from rl_insight.collect.marks import readable
from rl_insight.collect.otlp import PREFIX
from rl_insight.export.otlp.destination import Destination
from rl_insight.export.otlp.encode import SIGNALS, Encoder
from rl_insight.export.otlp.post import Answer, Post
from rl_insight.export.otlp.resources import resource, via
from rl_insight.schema import Line, Process

logger = logging.getLogger(__name__)

SOURCE = "otlp:"
CHUNK_BYTES = 2**20
INTERVAL = 0.5
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
# How long an answer is waited for when the collector stops.
GRACE = 2.0
# A request stays below what receivers commonly take, 4 MiB being the smallest limit around.
REQUEST_BYTES = 3 * 2**20


class ExporterStatus(msgspec.Struct, kw_only=True):
    """How far an export has come. `dropped` records were refused for good, `missed_bytes` left the log unsent."""

    name: str
    endpoint: str
    signals: list[str]
    state: str  # ok, behind, retrying, stopped, loop
    segment: int
    offset: int
    lag_bytes: int
    lag_seconds: float
    sent: int
    requests: int
    retries: int
    dropped: int
    returned: int  # records that had come from the destination itself and were not sent back
    missed_bytes: int
    last_sent: float | None = None
    last_error: str | None = None
    last_error_at: float | None = None


class Exporter:
    """Exports a log to one destination until stopped."""

    def __init__(
        self,
        destination: Destination,
        log: LineLog,
        collector_id: str,
        *,
        processes: Callable[[list[str]], list[Process]],
        reached: Callable[[str, Position], None] = lambda source, position: None,
        more: dict[str, str] | None = None,
    ) -> None:
        self.destination = destination
        self.source = SOURCE + destination.name
        self._log = log
        self._id = collector_id
        self._ask = processes
        self._reached = reached
        self._more = more or {}
        self._post = Post(destination, collector_id)
        self._encoder = Encoder(self._resource)
        self._processes: dict[str, Process | None] = {}
        self._told: dict[str, Process] = {}
        self._peer = ""
        self._generation = 0
        self._stop = threading.Event()
        self._state = "ok"
        self._sent = self._requests = self._retries = self._dropped = self._returned = 0
        self._last_sent: float | None = None
        self._last_error: str | None = None
        self._last_error_at: float | None = None
        self._caught_up = time.monotonic()
        if log.bookmarks.get(self.source) is None:
            start = log.end if destination.begin == "now" else START
            log.bookmarks.put(self.source, start.segment, start.offset)
        self._thread = threading.Thread(target=self._run, name=f"rl-insight-export-{destination.name}", daemon=True)

    def start(self) -> None:
        """Export from now on."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Stop after the request that is under way."""
        self._stop.set()

    def stop(self) -> None:
        """Stop, and wait until it has. What is left is sent after the next start.

        A destination that does not answer is not waited for; what it was sent is then sent again.
        """
        self.ask_to_stop()
        if self._thread.ident is not None:
            self._thread.join(GRACE)
            if self._thread.is_alive():
                self._post.abort()
                self._thread.join(GRACE)
        self._post.close()

    def position(self) -> Position:
        """The place in the log up to which everything has been sent."""
        mark = self._log.bookmarks.get(self.source)
        return Position(mark.segment, mark.offset) if mark else START

    def status(self) -> ExporterStatus:
        """How far it has come."""
        position = self.position()
        mark = self._log.bookmarks.get(self.source)
        lag = self._log.remaining(position)
        state = self._state
        if state == "ok" and lag:
            state = "behind"
        return ExporterStatus(
            name=self.destination.name,
            endpoint=self.destination.shown(),
            signals=list(self.destination.urls),
            state="stopped" if self._stop.is_set() else state,
            segment=position.segment,
            offset=position.offset,
            lag_bytes=lag,
            lag_seconds=time.monotonic() - self._caught_up if lag else 0.0,
            sent=self._sent,
            requests=self._requests,
            retries=self._retries,
            dropped=self._dropped,
            returned=self._returned,
            missed_bytes=mark.missed if mark else 0,
            last_sent=self._last_sent,
            last_error=self._last_error,
            last_error_at=self._last_error_at,
        )

    # -- the thread

    def _run(self) -> None:
        while not self._stop.is_set() and self._state != "loop":
            try:
                self._catch_up()
            except Exception as error:
                logger.exception("otlp: the export to %s has failed; it goes on", self.destination.shown())
                self._note(f"{type(error).__name__}: {error}")
                self._stop.wait(5.0)
            self._stop.wait(INTERVAL)

    def _catch_up(self) -> None:
        """Send what the log holds now. Ends early when the log is rewritten: the bookmark has moved then."""
        marks = self._log.bookmarks
        generation = self._generation = marks.generation
        for chunk in self._log.chunks(self.position(), CHUNK_BYTES):
            if self._interrupted() or not self._send_chunk(chunk):
                return
            if not marks.put(self.source, chunk.end.segment, chunk.end.offset, generation):
                return
            try:
                self._reached(self.source, chunk.end)
            except Exception as error:  # the bookmark is what counts; the store may be busy being made anew
                logger.debug("otlp: %s could not be noted in the store: %s", self.source, error)
        self._caught_up = time.monotonic()

    def _interrupted(self) -> bool:
        """Whether to leave what is under way: we are to stop, or a run has been deleted and its lines are not to go."""
        return self._stop.is_set() or self._log.bookmarks.generation != self._generation

    def _send_chunk(self, chunk: Chunk) -> bool:
        """Send the lines of a chunk; False when interrupted before all of them were sent."""
        lines = readable(chunk.data)
        self._meet({line.proc for line in lines} - self._processes.keys(), chunk.end)
        size = self.destination.batch_lines
        for at in range(0, len(lines), size):
            some = self._wanted(lines[at : at + size])
            for signal in self.destination.urls:
                kinds = SIGNALS[signal]
                if not self._deliver(signal, [line for line in some if type(line) in kinds]):
                    return False
        return True

    def _wanted(self, lines: list[Line]) -> list[Line]:
        wanted: list[Line] = []
        for line in lines:
            if type(line) is Process:
                known = self._processes.get(line.proc)
                if known is not None:
                    line = msgspec.structs.replace(line, run=known.run)
                self._processes[line.proc] = line
                self._encoder.describe(line.proc, line.attrs)
                if not self.destination.heartbeats and not self._says_something(line):
                    continue
            if line.proc.startswith(PREFIX):
                if not self.destination.received:
                    continue
                if self._peer and self._peer in via(self._processes.get(line.proc)):
                    self._returned += 1
                    continue
            wanted.append(line)
        return wanted

    def _says_something(self, line: Process) -> bool:
        bare = msgspec.structs.replace(line, seq=1, ts=0, clock_offset=None, attrs=None)
        if self._told.get(line.proc) == bare:
            return False
        self._told[line.proc] = bare
        return True

    def _meet(self, procs: set[str], end: Position) -> None:
        """Learn who has written the lines of a chunk: their process lines may lie far before it."""
        for process in self._ask(sorted(procs)) if procs else ():
            self._processes[process.proc] = process
            self._encoder.describe(process.proc, process.attrs)
        for proc in procs - self._processes.keys():
            self._processes[proc] = None

    def _resource(self, proc: str) -> dict[str, Any]:
        return resource(proc, self._processes.get(proc), self._id, self._more)

    def _deliver(self, signal: str, lines: list[Line]) -> bool:
        """Send lines of one signal until they are taken or refused for good; False when interrupted before."""
        if not lines:
            return True
        body = self._encoder.request(signal, lines).SerializeToString()
        if len(body) > REQUEST_BYTES and len(lines) > 1:
            return self._halves(signal, lines)
        pause = FIRST_PAUSE
        while not self._interrupted():
            answer = self._post.send(signal, body)
            self._requests += 1
            self._peer = answer.collector or self._peer
            if self._peer == self._id:
                self._end_loop()
                return False
            if answer.status == 413 and len(lines) > 1:
                return self._halves(signal, lines)
            if not answer.again:
                self._account(answer, len(lines))
                return True
            self._state = "retrying"
            self._retries += 1
            self._note(answer.message)
            self._wait(max(answer.retry_after, pause * random.uniform(0.5, 1.0)))
            pause = min(pause * 2, LONGEST_PAUSE)
        return False

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._interrupted() and (left := until - time.monotonic()) > 0:
            self._stop.wait(min(left, INTERVAL))

    def _halves(self, signal: str, lines: list[Line]) -> bool:
        middle = len(lines) // 2
        return self._deliver(signal, lines[:middle]) and self._deliver(signal, lines[middle:])

    def _account(self, answer: Answer, lines: int) -> None:
        self._state = "ok"
        if 200 <= answer.status < 300:
            rejected = min(answer.rejected, lines)
            self._sent += lines - rejected
            self._dropped += rejected
            self._last_sent = time.time()
            if rejected:
                self._note(f"{self.destination.shown()} has left out {rejected} of {lines} records: {answer.message}")
            return
        self._dropped += lines
        self._note(f"{answer.message}; {lines} records dropped, since this is no answer to try again after")

    def _end_loop(self) -> None:
        self._state = "loop"
        self._note(
            f"{self.destination.shown()} is this collector itself; nothing is exported there. "
            "Set another endpoint (OTEL_EXPORTER_OTLP_ENDPOINT or collector.otlp_export)"
        )

    def _note(self, message: str) -> None:
        if message != self._last_error:
            logger.warning("otlp: %s", message)
        self._last_error = message
        self._last_error_at = time.time()


class Exporters:
    """The exporters of one collector, started and stopped together."""

    def __init__(self, all_of_them: Iterable[Exporter] = ()) -> None:
        self.all = list(all_of_them)

    def start(self) -> None:
        """Export from now on."""
        for one in self.all:
            one.start()

    def stop(self) -> None:
        """Ask all to stop, then wait for each."""
        for one in self.all:
            one.ask_to_stop()
        for one in self.all:
            one.stop()

    def status(self) -> list[ExporterStatus]:
        """How far each has come."""
        return [one.status() for one in self.all]
