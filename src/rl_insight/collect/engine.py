"""The collector as a recording process: makes lines of what targets show, and hands them in like anybody's.

What is read for one run is recorded by one process of its own, role `engine`, so that it lives and ends with the run.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

import msgspec

from rl_insight.collect.collector import Accepted
from rl_insight.collect.exposition import Sample
from rl_insight.collect.targets import Target
from rl_insight.record.identity import new_proc
from rl_insight.schema import SCHEMA_VERSION, Count, Gauge, Line, Lost, Process, encode_lines
from rl_insight.version import __version__

ROLE = "engine"
NAME = "scraper"

Submit = Callable[[bytes], "Future[Accepted]"]


class Run(msgspec.Struct):
    """A run that goes on: its processes are heard from."""

    run: str
    project: str | None = None
    experiment: str | None = None


class Orphan(msgspec.Struct):
    """A process of ours that never said it was over, since the server was killed."""

    run: str
    proc: str
    seq: int
    last_ts: int
    project: str | None = None
    experiment: str | None = None
    node: str | None = None
    host: str | None = None
    pid: int | None = None
    started: int | None = None


class Series:
    """What is remembered of one target between two reads: the labels of each series, and where its counter stood."""

    def __init__(self, target: Target, most: int) -> None:
        self.skipped = 0
        self.seen = 0
        self._most = most
        self._fixed = {**target.labels, "engine": target.target, "job": target.job}
        self._known: dict[tuple[str, frozenset[tuple[str, str]]], tuple[dict[str, str], float]] = {}
        self._read_at = 0.0

    def points(self, samples: Iterable[Sample], *, gap: float) -> tuple[list[tuple[Sample, dict[str, str]]], Any]:
        """What to record, counters as what they moved by; and what to remember if that could be stored.

        A counter's first value, and its first after `gap` seconds without a read, is where counting begins, with 0.
        """
        now = time.monotonic()
        before = self._known if now - self._read_at <= gap else {}
        known: dict[tuple[str, frozenset[tuple[str, str]]], tuple[dict[str, str], float]] = {}
        made: list[tuple[Sample, dict[str, str]]] = []
        skipped = 0
        for one in samples:
            key = (one.name, frozenset(one.labels.items()))
            if len(known) >= self._most and key not in known:
                skipped += 1
                continue
            old = self._known.get(key)
            labels = self._labels(one.labels) if old is None else old[0]
            known[key] = (labels, one.value)
            if one.kind == "gauge":
                made.append((one, labels))
                continue
            if key not in before:
                # Zero, once: that it is there is worth knowing, as of a bucket into which nothing falls.
                made.append((one._replace(value=0.0), labels))
                continue
            stood = before[key][1]
            # A counter that stands lower than before belongs to a process that was started anew, at zero.
            moved = one.value - stood if one.value >= stood else one.value
            if moved > 0:
                made.append((one._replace(value=moved), labels))
        self.skipped, self.seen = skipped, len(known)
        return made, (known, now)

    def remember(self, what: Any) -> None:
        """Go on from here: the points are in the log."""
        self._known, self._read_at = what

    def _labels(self, given: dict[str, str]) -> dict[str, str]:
        # As Prometheus does it: what the target is called by wins, and the engine's own label is kept beside it.
        mine = {(f"exported_{name}" if name in self._fixed else name): value for name, value in given.items()}
        return {**mine, **self._fixed}


class Recording:
    """The process that records what is read for one run. Used by one thread."""

    def __init__(self, run: Run, submit: Submit, heartbeat: float) -> None:
        self.run = run
        self.proc = new_proc()
        self.heartbeat = heartbeat
        self._submit = submit
        self._started = time.time_ns()
        self._seq = 0
        self._lost = 0
        self._beat = 0.0

    def beat(self) -> None:
        """Say that we live, if it is time to."""
        if time.monotonic() - self._beat >= self.heartbeat:
            self.record([], time.time_ns())

    def record(self, points: list[tuple[Sample, dict[str, str]]], ts: int) -> bool:
        """Hand in points as one batch; False when the collector could not take it. What was lost is told later."""
        due = time.monotonic() - self._beat >= self.heartbeat
        seq, lines = self._seq, list[Line]()
        if due:
            lines.append(self._process(seq + 1, "running"))
        if self._lost:
            lines.append(Lost(self.proc, seq + len(lines) + 1, ts, "lines", self._lost, "the collector was busy"))
        first = seq + len(lines) + 1
        for number, (one, labels) in enumerate(points, first):
            kind = Count if one.kind == "count" else Gauge
            lines.append(kind(self.proc, number, ts, one.name[:512], one.value, labels))
        if not lines:
            return True
        try:
            self._submit(encode_lines(lines)).result()
        except Exception:  # busy, full or stopping: nothing of the batch is stored, so its numbers are free
            # A counter loses nothing: what it moved by is told with the next read.
            self._lost += sum(1 for one, _ in points if one.kind == "gauge")
            return False
        self._seq += len(lines)
        self._lost = 0
        if due:
            self._beat = time.monotonic()
        return True

    def finish(self) -> None:
        """Say that this process is over; it never was where nothing of it is stored."""
        if self._seq:
            self._hand_in([self._process(self._seq + 1, "finished")])

    def _process(self, seq: int, state: Any) -> Process:
        host = socket.gethostname()
        return Process(
            self.proc,
            seq,
            time.time_ns(),
            NAME,
            run=self.run.run,
            schema=SCHEMA_VERSION,
            project=self.run.project,
            experiment=self.run.experiment,
            role=ROLE,
            node=host,
            host=host,
            pid=os.getpid(),
            started=self._started,
            heartbeat=self.heartbeat,
            state=state,
            versions={"rl_insight": __version__},
        )

    def _hand_in(self, lines: list[Line]) -> None:
        try:
            self._submit(encode_lines(lines)).result()
        except Exception:  # the page will show it as lost, and the next server finishes it
            return
        self._seq += len(lines)


def finished(orphan: Orphan) -> bytes:
    """The last line of a process that could not write it, stamped with the last moment it was heard from."""
    return encode_lines(
        [
            Process(
                orphan.proc,
                orphan.seq + 1,
                orphan.last_ts,
                NAME,
                run=orphan.run,
                schema=SCHEMA_VERSION,
                project=orphan.project,
                experiment=orphan.experiment,
                role=ROLE,
                node=orphan.node,
                host=orphan.host,
                pid=orphan.pid,
                started=orphan.started,
                state="finished",
            )
        ]
    )
