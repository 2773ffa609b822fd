"""Takes OTLP requests and hands them to the collector as lines. One thread does it, in groups, as the log is written.

A request is answered once the log has its lines. What cannot be a line is left out and counted in the answer.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

import msgspec

from rl_insight import config
from rl_insight.collect.collector import Collector, Stopping
from rl_insight.collect.otlp import wire
from rl_insight.collect.otlp.cleaning import Cleaner
from rl_insight.collect.otlp.metrics import Sources, Stored, Totals, our_points
from rl_insight.collect.otlp.senders import HEARTBEAT, QUIET, Live, Looped, Sender, Senders
from rl_insight.collect.otlp.spans import our_record, our_span, their_record, their_span
from rl_insight.collect.otlp.staged import Staged
from rl_insight.schema import BadLine, Line, Process, encode_lines
from rl_insight.schema import conventions as names

logger = logging.getLogger(__name__)

GROUP = 64
GROUP_BYTES = 8 * 2**20
REMEMBERED_SPANS = 200_000
_TICK = 1.0


class Outcome(msgspec.Struct):
    """What became of a request: how many of its records were left out, and why the first of them was."""

    accepted: int = 0
    duplicates: int = 0
    rejected: int = 0
    message: str = ""


class ReceiverStatus(msgspec.Struct, kw_only=True):
    """What has come by OTLP since the collector started."""

    requests: int
    records: int
    duplicates: int
    rejected: int
    looped: int
    senders: int
    last_error: str | None = None


class _Request(msgspec.Struct):
    signal: str
    message: Any
    run: str
    direct: bool
    size: int
    answer: Future[Outcome]
    outcome: Outcome = msgspec.field(default_factory=Outcome)


class _Made(msgspec.Struct):
    """A line on its way, and the request it came with; none for one of our own making."""

    line: Line
    request: _Request | None


class Receiver:
    """Turns OTLP into lines. `submit` may be called from any thread; the conversion has a thread of its own."""

    def __init__(
        self,
        collector: Collector,
        settings: config.Collector,
        collector_id: str,
        *,
        live: Callable[[], Live | None] = lambda: None,
        stored: Stored = lambda procs, since: None,
        known: Iterable[Process] = (),
        spans: Iterable[str] = (),
    ) -> None:
        self.collector_id = collector_id
        self._collector = collector
        cleaner = self._cleaner = Cleaner(settings.redact)
        self._senders = Senders(cleaner, collector_id, settings.otlp_run, live)
        self._senders.remember(known, time.monotonic())
        self._totals = Totals(cleaner, time.time_ns(), stored)
        self._spans: Staged[str, bool] = Staged(dict.fromkeys(spans, True), limit=REMEMBERED_SPANS)
        self._inbox: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._stopping = False
        self._requests = self._records = self._duplicates = self._rejected = self._looped = 0
        self._last_error: str | None = None
        self._rest_until = 0.0
        self._thread = threading.Thread(target=self._run, name="rl-insight-otlp", daemon=True)
        self._thread.start()

    def submit(
        self, signal: str, message: Any, *, size: int = 0, run: str = "", direct: bool = False
    ) -> Future[Outcome]:
        """Hand in a request of `wire.read`, of so many bytes. The future has the outcome when the log has the lines.

        `direct` says that our own exporter speaks, in the order of its log and with nobody between: what it sends
        again is then known by its number.
        """
        if self._stopping:
            raise Stopping("the collector is stopping; send the request again when it is back")
        request = _Request(signal, message, run, direct, size, Future())
        self._inbox.put(request)
        return request.answer

    def status(self) -> ReceiverStatus:
        """What has come so far."""
        return ReceiverStatus(
            requests=self._requests,
            records=self._records,
            duplicates=self._duplicates,
            rejected=self._rejected,
            looped=self._looped,
            senders=len(self._senders.known),
            last_error=self._last_error,
        )

    def stop(self) -> None:
        """Finish what is waiting, and take no more."""
        if not self._stopping:
            self._stopping = True
            self._inbox.put(None)
        self._thread.join()

    # -- the thread

    def _run(self) -> None:
        last = False
        while not last:
            group, last = self._gather()
            try:
                self._take(group)
            except Exception as error:
                logger.exception("otlp: %d requests could not be taken", len(group))
                self._fail(group, error)
        while True:  # what came while we were stopping
            try:
                request = self._inbox.get_nowait()
            except queue.Empty:
                return
            if request is not None:
                request.answer.set_exception(Stopping("the collector is stopping; send the request again"))

    def _gather(self) -> tuple[list[_Request], bool]:
        group: list[_Request] = []
        try:
            request = self._inbox.get(timeout=_TICK)
            while request is not None:
                if request.answer.set_running_or_notify_cancel():
                    group.append(request)
                if len(group) >= GROUP or sum(one.size for one in group) >= GROUP_BYTES:
                    return group, False
                request = self._inbox.get_nowait()
        except queue.Empty:
            return group, False
        return group, True

    def _take(self, group: list[_Request]) -> None:
        now = time.monotonic()
        made: list[_Made] = []
        for request in group:
            self._convert(request, made, now)
        made += self._beats(now)
        try:
            self._store(made)
        except Exception as error:  # busy, stopping, disk full: the sender tries again
            for staged in (self._senders.known, self._totals.series, self._spans):
                staged.forget()
            self._last_error = str(error)
            self._rest_until = now + HEARTBEAT / 2
            self._fail(group, error)
            return
        for staged in (self._senders.known, self._totals.series, self._spans):
            staged.commit()
        for request in group:
            outcome = request.outcome
            self._requests += 1
            self._records += outcome.accepted
            self._duplicates += outcome.duplicates
            self._rejected += outcome.rejected
            if outcome.message:
                self._last_error = outcome.message
            request.answer.set_result(outcome)

    def _store(self, made: list[_Made]) -> None:
        while made:
            self._number(made)
            try:
                self._collector.submit(encode_lines([one.line for one in made])).result()
                return
            except BadLine as bad:
                # Nothing that is made here should be refused; if it is all the same, the rest must not suffer.
                wrong = made.pop(bad.number - 1) if 0 < bad.number <= len(made) else None
                if wrong is None:
                    raise
                logger.error("otlp: a line of ours was refused and left out: %s", bad)
                if wrong.request is not None:
                    wrong.request.outcome.accepted -= 1
                    _reject(wrong.request, bad.problem)

    def _number(self, made: list[_Made]) -> None:
        """Give out `seq`, going on where the log has ended: nobody else writes under these names."""
        marks: dict[str, int] = {}
        for one in made:
            proc = one.line.proc
            marks[proc] = one.line.seq = (marks.get(proc) or self._collector.mark(proc)) + 1

    def _fail(self, group: list[_Request], error: Exception) -> None:
        for request in group:
            if not request.answer.done():
                request.answer.set_exception(error)

    # -- requests

    def _convert(self, request: _Request, made: list[_Made], now: float) -> None:
        groups = {"traces": "resource_spans", "metrics": "resource_metrics", "logs": "resource_logs"}
        for group in getattr(request.message, groups[request.signal]):
            try:
                resource = wire.attributes(group.resource.attributes)
                sender = self._senders.find(resource, request.run, now)
            except ValueError as error:
                records = _count(request.signal, group)
                request.outcome.rejected += records
                request.outcome.message = request.outcome.message or str(error)
                self._looped += records if isinstance(error, Looped) else 0
                continue
            if not sender.told:
                # Its place, before its lines; what it says is filled in when all of them have been read.
                made.append(_Made(sender.process, None))
            first = len(made)
            said = (
                self._ours(request, group, sender, made) if sender.ours else self._theirs(request, group, sender, made)
            )
            self._tell(sender.process.proc, made, first, said, request)

    def _tell(self, proc: str, made: list[_Made], first: int, said: dict[str, Any], request: _Request) -> None:
        """Put in the process lines that these records need, now that it is known what they say."""
        sender = self._senders.known.get(proc)
        assert sender is not None
        lines = [one.line for one in made[first:]]
        now = time.time_ns()
        process = sender.process
        if said:
            # A process line says all there is to say; only where it came by is ours to add.
            attrs = {**(said.pop("attrs", None) or {}), "otlp": (process.attrs or {})["otlp"]}
            process = msgspec.structs.replace(process, **said, attrs=attrs)
        if sender.ours:
            process.attrs = {
                **(process.attrs or {}),
                "otlp": {**(process.attrs or {})["otlp"], "seen": dict(sender.seen)},
            }
        for one in made[first:]:
            if isinstance(one.line, Process):
                one.line = msgspec.structs.replace(process, ts=one.line.ts, name=one.line.name)
        if not sender.told:
            stamp = min((line.ts for line in lines), default=now) if sender.ours else now
            made[first - 1].line = msgspec.structs.replace(process, ts=stamp)
        elif sender.ours and request.direct and lines and not isinstance(lines[-1], Process):
            # In the same write as the lines: what has been seen is known again after a restart.
            made.append(_Made(msgspec.structs.replace(process, ts=max(line.ts for line in lines)), None))
        beat = time.monotonic()
        self._senders.known.put(proc, msgspec.structs.replace(sender, process=process, told=True, beat=beat))

    def _ours(self, request: _Request, group: Any, sender: Sender, made: list[_Made]) -> dict[str, Any]:
        """Lines that an exporter of ours took apart. Returns what they say of the process itself."""
        floor = sender.seen.get(request.signal, 0) if request.direct else 0
        top, told = floor, dict[str, Any]()
        outcome = request.outcome
        for pick, record in _records(request.signal, group):
            try:
                for seq, line, said in pick(record):
                    if seq is not None and seq <= floor:
                        outcome.duplicates += 1
                        continue
                    top = max(top, seq or 0)
                    told = said or told
                    line.proc = sender.process.proc
                    made.append(_Made(line, request))
                    outcome.accepted += 1
            except (ValueError, OverflowError, msgspec.ValidationError) as error:
                _reject(request, str(error))
        if request.direct and top > floor:
            seen = {**sender.seen, request.signal: top}
            self._senders.known.put(sender.process.proc, msgspec.structs.replace(sender, seen=seen))
        return told

    def _theirs(self, request: _Request, group: Any, sender: Sender, made: list[_Made]) -> dict[str, Any]:
        scopes = getattr(
            group, {"traces": "scope_spans", "metrics": "scope_metrics", "logs": "scope_logs"}[request.signal]
        )
        now = time.time_ns()
        for scoped in scopes:
            scope: dict[str, Any] = {}
            if scoped.scope.name:
                scope[names.SCOPE_NAME] = scoped.scope.name
            if scoped.scope.version:
                scope[names.SCOPE_VERSION] = scoped.scope.version
            for record in getattr(
                scoped, {"traces": "spans", "metrics": "metrics", "logs": "log_records"}[request.signal]
            ):
                try:
                    lines = self._lines(request, record, scope, sender, now)
                except (ValueError, OverflowError, msgspec.ValidationError) as error:
                    _reject(request, str(error), _points(record) if request.signal == "metrics" else 1)
                    continue
                for line in lines:
                    line.proc = sender.process.proc
                    made.append(_Made(line, request))
                request.outcome.accepted += len(lines)
        return {}

    def _lines(self, request: _Request, record: Any, scope: dict[str, Any], sender: Sender, now: int) -> list[Line]:
        if request.signal == "logs":
            return [their_record(record, scope, self._cleaner, now)]
        if request.signal == "metrics":
            self._senders.note(
                self._senders.known.get(sender.process.proc) or sender, record.name, record.description, record.unit
            )
            source = Sources(sender.resource, self._senders.earlier(sender.resource))
            return list(self._totals.points(record, source, scope.get(names.SCOPE_NAME, ""), now))
        identity = wire.hex_of(record.trace_id) + wire.hex_of(record.span_id)
        if self._spans.get(identity):
            request.outcome.duplicates += 1
            return []
        lines = list(their_span(record, scope, self._cleaner))
        self._spans.put(identity, True)
        return lines

    # -- saying that they are there

    def _beats(self, now: float) -> list[_Made]:
        """Process lines on behalf of those who have no heartbeat of their own; their last one when they fell silent."""
        if now < self._rest_until:
            return []  # the log has just refused; asking it every second makes nothing better
        made = []
        for proc, held in self._senders.known.items():
            sender = self._senders.known.get(proc) or held
            if sender.ours or sender.process.state == "finished" or sender.beat + HEARTBEAT / 2 > now:
                if not sender.ours and sender.process.state == "finished" and sender.heard + 2 * QUIET < now:
                    self._senders.known.drop(proc)
                continue
            quiet = sender.heard + QUIET <= now or self._senders.left(sender)
            state: Any = "finished" if quiet else "running"
            process = msgspec.structs.replace(sender.process, ts=time.time_ns(), state=state)
            self._senders.known.put(proc, msgspec.structs.replace(sender, process=process, beat=now, told=not quiet))
            made.append(_Made(process, None))
        return made


def _records(signal: str, group: Any) -> Iterable[tuple[Callable[[Any], Iterable[tuple[int | None, Line, Any]]], Any]]:
    if signal == "traces":
        return [(_one_span, span) for scoped in group.scope_spans for span in scoped.spans]
    if signal == "logs":
        return [(_one_record, record) for scoped in group.scope_logs for record in scoped.log_records]
    return [(_all_points, metric) for scoped in group.scope_metrics for metric in scoped.metrics]


def _one_span(span: Any) -> Iterable[tuple[int | None, Line, Any]]:
    return [(*our_span(span), None)]


def _one_record(record: Any) -> Iterable[tuple[int | None, Line, Any]]:
    return [our_record(record)]


def _all_points(metric: Any) -> Iterable[tuple[int | None, Line, Any]]:
    return [(seq, line, None) for seq, line in our_points(metric)]


def _count(signal: str, group: Any) -> int:
    if signal == "traces":
        return sum(len(scoped.spans) for scoped in group.scope_spans)
    if signal == "logs":
        return sum(len(scoped.log_records) for scoped in group.scope_logs)
    return sum(_points(metric) for scoped in group.scope_metrics for metric in scoped.metrics)


def _points(metric: Any) -> int:
    _, data = wire.data_of(metric)
    return len(data.data_points) if data is not None else 0


def _reject(request: _Request, message: str, count: int = 1) -> None:
    request.outcome.rejected += count
    request.outcome.message = request.outcome.message or message
