"""OTLP of a collector, in and out, as the service opens it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from rl_insight import config
from rl_insight.collect import Collector, LineLog, Position
from rl_insight.collect.bookmarks import collector_id
from rl_insight.collect.marks import readable
from rl_insight.collect.otlp import PREFIX, Live, Receiver
from rl_insight.export.otlp import Destination, Exporter, Exporters, resource_attributes
from rl_insight.schema import Process, Span
from rl_insight.store import Projector, Store
from rl_insight.store.processes import Counted, counted_since, live_runs, note_position, processes, processes_beginning

# How long the sole live run is believed to be it, and how long is waited for the store to have come as far as the log
# was when the collector began.
_BELIEVED = 1.0
_LATE = 60.0
_RESENT_BYTES = 8 * 2**20
_PATIENCE = 10.0


def open_receiver(
    data_dir: Path, settings: config.Collector, collector: Collector, store: Store, projector: Projector
) -> Receiver:
    """The receiver, going on with the senders of an earlier life."""
    known = {process.proc: process for process in processes_beginning(store, PREFIX)}
    spans: list[str] = []
    began = collector.log.end
    # Process lines that the store has not seen, and the spans of requests that may be sent again, since the collector
    # was killed before it could answer them.
    for chunk in collector.log.chunks(min(store.position(), _before(collector.log, _RESENT_BYTES))):
        if b'"proc":"' + PREFIX.encode() not in chunk.data:
            continue
        for line in readable(chunk.data):
            if not line.proc.startswith(PREFIX):
                continue
            if type(line) is Process:
                known[line.proc] = line
            elif type(line) is Span and line.trace and line.id:
                spans.append(line.trace + line.id)

    def stored(procs: list[str], since: int) -> Counted | None:
        return counted_since(store, procs, since) if _caught_up(projector, began) else None

    return Receiver(
        collector,
        settings,
        collector_id(data_dir),
        live=_LiveRun(store),
        stored=stored,
        known=known.values(),
        spans=spans,
    )


def open_exporters(
    data_dir: Path,
    wanted: list[Destination],
    collector: Collector,
    store: Store,
    projector: Projector,
    environ: Mapping[str, str] = os.environ,
) -> Exporters:
    """An exporter for each destination."""
    began = collector.log.end

    def known(procs: list[str]) -> list[Process]:
        _caught_up(projector, began)
        return processes(store, procs)

    return Exporters(
        Exporter(
            destination,
            collector.log,
            collector_id(data_dir),
            processes=known,
            reached=lambda source, position: note_position(store, source, position),
            more=resource_attributes(environ),
        )
        for destination in wanted
    )


def _before(log: LineLog, size: int) -> Position:
    """A place about so many bytes before the end of the log, in its last or last but one segment."""
    end = log.end
    if end.offset >= size:
        return Position(end.segment, end.offset - size)
    earlier = [number for number in log.segments() if number < end.segment]
    if not earlier:
        return Position(end.segment, 0)
    length = log.remaining(Position(earlier[-1], 0)) - end.offset
    return Position(earlier[-1], max(0, length + end.offset - size))


def _caught_up(projector: Projector, place: Position) -> bool:
    """Wait for a while until the store has come to a place in the log."""
    deadline = time.monotonic() + _PATIENCE
    while projector.position < place and time.monotonic() < deadline:
        time.sleep(0.05)
    return projector.position >= place


class _LiveRun:
    """The run that is being recorded, if it is the only one. It counts for a minute more: exporters flush late."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked = self._until = 0.0
        self._found: Live | None = None

    def __call__(self) -> Live | None:
        if time.monotonic() - self._asked > _BELIEVED:
            runs = live_runs(self._store, time.time_ns(), PREFIX)
            self._asked = time.monotonic()
            if len(runs) == 1:
                self._found, self._until = Live(*runs[0]), self._asked + _LATE
            elif runs or self._asked > self._until:
                self._found = None
        return self._found
