"""Keeps the totals of the runs that `/metrics` shows up with the store. What has been read is not read again.

A row is known by its process and its number, which only grow: above the mark of the last look, it is new. Where new
rows lie is known too, since rows are only ever appended: after the one that was the last. Should that have moved (rows
before it were deleted), the segment of the log tells, less precisely.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from rl_insight import config
from rl_insight.export.prometheus.processes import Process
from rl_insight.export.prometheus.totals import Bounds, Totals
from rl_insight.read.rows import Rows
from rl_insight.store.sql import load

TABLES = ("point", "span", "fact")
_ALL = 2**40


class Anchor(NamedTuple):
    """The last row of a table when it was looked at."""

    rowid: int
    proc: str
    seq: int


class Open(NamedTuple):
    """What is open in a process: of a part, or of one state. `began` is the sum of when each began (ns)."""

    proc: str
    part: str
    state: str | None
    number: int
    began: int
    step: int | None
    step_began: int | None


class Loss(NamedTuple):
    """Lines of a process that are missing; without a reason they never came."""

    proc: str
    reason: str | None
    lines: int


class _Known(NamedTuple):
    """How much of a process has been added up."""

    seq: int
    lines: int
    first_ts: int


class Ledger:
    """The totals of all runs that are shown. One thread at a time uses it."""

    def __init__(self, settings: config.Exposition, bounds: Bounds) -> None:
        self._settings = settings
        self._bounds = bounds
        self.runs: dict[str, Totals] = {}
        self.processes: list[Process] = []
        self.open: list[Open] = []
        self.losses: list[Loss] = []
        self.now = 0
        self._known: dict[str, _Known] = {}
        self._anchors: dict[str, Anchor] = {}
        self._segment = -1
        self._newest_mark = -1

    def refresh(self, source: Rows, now: int | None = None) -> None:
        """Take in what is new in the store; `source` shows it as it is at one moment."""
        self.now = time.time_ns() if now is None else now
        since = self.now - int(self._settings.keep * 1e9)
        found = _ask(source, "processes", {"now": self.now, "since": since})
        births = {row[1]: row[-2:] for row in found}  # the place of its mark, and its first moment
        processes = [Process(*row[:-2]) for row in found]
        self._forget(source, processes, births)
        processes = self._with_forgotten(processes)
        late = [one for one in processes if one.proc not in self._known and births[one.proc][0] <= self._newest_mark]
        if late:
            self._take(source, late, dict.fromkeys(TABLES, -1), -1)
            self._know(late, births)
        grown = [one for one in processes if one.lines != self._lines_known(one.proc)]
        if grown:
            self._take(source, grown, *self._where(source))
            self._know(grown, births)
            self._note_end(source)
        self.processes = processes
        procs = {"procs": [one.proc for one in processes]}
        self.open = [Open(*row) for row in _ask(source, "open", procs)]
        self.losses = [Loss(*row) for row in _ask(source, "losses", procs)]

    def recent(self) -> dict[str, Process]:
        """Processes that live, or did until a moment ago: what the others were set to is of the past."""
        since = self.now - int(self._settings.keep * 1e9)
        return {one.proc: one for one in self.processes if one.live or one.heard > since}

    # -- what is known

    def _forget(self, source: Rows, processes: list[Process], births: dict[str, Any]) -> None:
        """Drop runs that are not shown any more, and begin anew with those that were deleted meanwhile."""
        shown, there = {one.run for one in processes}, {one.proc for one in processes}
        dropped = {run for run in self.runs if run not in shown}
        for one in processes:
            known = self._known.get(one.proc)
            if known is not None and (one.lines < known.lines or births[one.proc][1] > known.first_ts):
                dropped.add(one.run)
        gone = {one.proc: one.run for one in self.processes if one.proc not in there and one.run in shown}
        if gone:
            # Whom retention has taken out has its mark as it was.
            kept = {proc for (proc,) in _ask(source, "marked", {"procs": list(gone)})}
            dropped |= {run for proc, run in gone.items() if proc not in kept}
        if dropped:
            for run in dropped:
                self.runs.pop(run, None)
            for one in self.processes:
                if one.run in dropped:
                    self._known.pop(one.proc, None)
            self.processes = [one for one in self.processes if one.run not in dropped]

    def _with_forgotten(self, processes: list[Process]) -> list[Process]:
        """Processes that retention has taken out of the store go on counting while their run is shown."""
        there = {one.proc for one in processes}
        gone = [one._replace(finished=True, live=False) for one in self.processes if one.proc not in there]
        return sorted([*processes, *gone], key=lambda one: (one.began, one.proc)) if gone else processes

    def _lines_known(self, proc: str) -> int:
        known = self._known.get(proc)
        return known.lines if known else -1

    def _know(self, processes: Iterable[Process], births: dict[str, Any]) -> None:
        for one in processes:
            self._known[one.proc] = _Known(one.seq, one.lines, births[one.proc][1])

    # -- reading

    def _where(self, source: Rows) -> tuple[dict[str, int], int]:
        """After which row of each table, and from which segment on, new rows are found."""
        after, moved = {}, False
        for table in TABLES:
            anchor = self._anchors.get(table)
            if anchor is not None:
                there = source.rows(_text("anchor").format(table=table), {"row": anchor.rowid}).rows
                if there == [(anchor.proc, anchor.seq)]:
                    after[table] = anchor.rowid
                    continue
                moved = True
            after[table] = -1
        if moved:
            self._anchors = {table: self._anchors[table] for table in TABLES if after[table] >= 0}
        return after, self._segment if moved else -1

    def _note_end(self, source: Rows) -> None:
        """Remember where the tables end, the log's position, and the newest process."""
        for table in TABLES:
            anchor = self._anchors.get(table)
            asked = {"after": anchor.rowid if anchor else -1}
            for row in source.rows(_text("newest").format(table=table), asked).rows:
                self._anchors[table] = Anchor(*row)
        ((self._segment, self._newest_mark),) = _ask(source, "end")

    def _take(self, source: Rows, processes: list[Process], after: dict[str, int], segment: int) -> None:
        """Add up what is new of these processes: all of it, or nothing where the store cannot answer."""
        runs = list(dict.fromkeys(one.run for one in processes))
        # A run that is begun may be folded where its rows are. Of one that is known only we know which series it has.
        most = _ALL if any(run in self.runs for run in runs) else self._settings.max_series
        known = [self._known.get(one.proc) for one in processes]
        wanted: dict[str, Any] = {
            "procs": [one.proc for one in processes],
            "runs": [one.run for one in processes],
            "seqs": [one.seq if one else 0 for one in known],
            "segment": segment,
        }
        engines = {"engines": [one.engine for one in processes]}
        bounds = self._bounds
        asked: dict[str, dict[str, Any]] = {
            "points": {**engines, "after": after["point"], "most": most},
            "samples": {
                **engines,
                "after": after["point"],
                "most": most,
                "names": list(self._settings.buckets),
                "bounds": [list(given) for given in self._settings.buckets.values()],
                "otherwise": list(bounds.of("")),
            },
            "spans": {
                "after": after["span"],
                "most": most,
                "bounds": list(bounds.spans),
                "session_bounds": list(bounds.sessions),
                "phase_bounds": list(bounds.phases),
            },
            "facts": {"after": after["fact"]},
            "tasks": {"after_span": after["span"], "after_fact": after["fact"]},
            "steps": {"after_point": after["point"], "after_span": after["span"]},
        }
        found = {name: _by_run(_ask(source, name, {**wanted, **params})) for name, params in asked.items()}
        for run in runs:
            totals = self.runs.get(run)
            if totals is None:
                totals = self.runs[run] = Totals(bounds, self._settings.max_series, self._settings.max_metrics)
            totals.add(**{name: rows.get(run, []) for name, rows in found.items()})


def _by_run(rows: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each run, in their order and without the run."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for run, *row in rows:
        found.setdefault(run, []).append(tuple(row))
    return found


def _ask(source: Rows, name: str, params: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    return source.rows(_text(name), params).rows


def _text(name: str) -> str:
    return load(name, "rl_insight.export.prometheus", "")
