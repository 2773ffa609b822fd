"""Turns lines into rows. DuckDB reads the lines itself; rows, marks and position change in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import NamedTuple

import duckdb
import msgspec

from rl_insight.collect import Chunk, Position
from rl_insight.schema import KINDS, BadLine, Process, decode_lines, encode_lines
from rl_insight.store.database import LOG, TABLES, Store
from rl_insight.store.sql import load

logger = logging.getLogger(__name__)

UNKNOWN = "unknown"
# What is raised about the lines themselves; the last when DuckDB cuts its message inside a character. All else
# (disk, memory, its own bugs) is not the lines' fault.
_ABOUT_DATA = (duckdb.DataError, duckdb.InvalidInputException, UnicodeDecodeError)
_LONGEST = 16 * 2**20
# A smaller chunk's rows may wait in memory for the next one to take their place.
_WORTH_DROPPING = 2**20
_BY_KIND = {
    "span": ("insert_span",),
    "log": ("insert_log",),
    "fact": ("insert_fact", "insert_fact_tag"),
    "lost": ("insert_lost",),
}
_POINTS = ("gauge", "count", "sample")
_proc = attrgetter("proc")


class Projected(NamedTuple):
    """What became of a chunk."""

    lines: int
    unreadable: int


class _Heard(NamedTuple):
    """What a chunk holds of one process."""

    first: int
    last: int
    lines: int
    first_ts: int
    last_ts: int


class _Loaded(NamedTuple):
    """A chunk that DuckDB has read, before it becomes rows."""

    kinds: set[str]
    heard: dict[str, _Heard]
    processes: dict[str, Process]


class Projection:
    """Writes chunks of lines into a store. One thread uses it, with a connection of its own.

    It remembers runs and marks, so that a small chunk takes few statements. Who changes those behind its back has to
    call `refresh`.
    """

    def __init__(self, store: Store) -> None:
        self._cursor = store.cursor()
        self._file = store.tmp / f"chunk-{id(self):x}.jsonl"
        self._view = ""
        self._one_run: str | None = None
        self._run("process_lines")
        self.refresh()

    def refresh(self) -> None:
        """Read again what is remembered of the store."""
        cursor = self._cursor
        self._runs: dict[str, str] = dict(cursor.execute("SELECT proc, run FROM process").fetchall())
        self._marks: dict[str, int] = dict(cursor.execute("SELECT proc, seq FROM mark").fetchall())
        self._sources = {source for (source,) in cursor.execute("SELECT source FROM position").fetchall()}
        self._open_spans = self._count_open()

    def project(self, chunk: Chunk, source: str = LOG) -> Projected:
        """Put a chunk's lines into the tables, together with the position after them.

        Whatever a line holds, this ends: what cannot be read goes to the table `unreadable`. Errors that are not
        about the lines are raised, and nothing has changed then.
        """
        try:
            return Projected(self._transact(chunk.data, chunk, source), 0)
        except _ABOUT_DATA as error:
            logger.debug("projection: %s; lines are written anew", error)
        try:
            # Twice the same key, or nonsense in a field we do not know: legal for us, not for DuckDB's reader.
            return Projected(self._transact(encode_lines(decode_lines(chunk.data)), chunk, source), 0)
        except (BadLine, *_ABOUT_DATA) as error:
            middle = chunk.data.find(b"\n", len(chunk.data) // 2) + 1
            if not 0 < middle < len(chunk.data):
                middle = chunk.data.rfind(b"\n", 0, len(chunk.data) - 1) + 1
            if not middle:
                return self._set_aside(chunk, source, str(error))
        between = Position(chunk.start.segment, chunk.start.offset + middle)
        one = self.project(Chunk(chunk.data[:middle], chunk.start, between), source)
        two = self.project(Chunk(chunk.data[middle:], between, chunk.end), source)
        return Projected(one.lines + two.lines, one.unreadable + two.unreadable)

    def advance(self, position: Position, source: str = LOG) -> None:
        """Note a position to which there was nothing to project."""
        self._commit(lambda: self._note(position, source))
        self._sources.add(source)

    def close(self) -> None:
        """Let go of the connection."""
        self._file.unlink(missing_ok=True)
        self._cursor.close()

    # -- reading a chunk

    def _load(self, data: bytes) -> _Loaded:
        try:
            self._file.write_bytes(data)
            self._run("load_lines", {"file": str(self._file), "longest": max(_LONGEST, len(data))})
        finally:
            # Gone before the disk has to write it.
            self._file.unlink(missing_ok=True)
        kinds: set[str] = set()
        heard: dict[str, _Heard] = {}
        beats = 0
        for kind, proc, first, last, lines, first_ts, last_ts, broken in self._cursor.execute(load("heard")).fetchall():
            if broken or kind not in KINDS:
                raise duckdb.DataError(f"the chunk holds something of kind {kind} that is no line")
            kinds.add(kind)
            beats += lines if kind == "process" else 0
            so_far = heard.get(proc) or _Heard(first, last, 0, first_ts, last_ts)
            heard[proc] = _Heard(
                min(first, so_far.first),
                max(last, so_far.last),
                lines + so_far.lines,
                min(first_ts, so_far.first_ts),
                max(last_ts, so_far.last_ts),
            )
        return _Loaded(kinds, heard, self._processes(data, beats) if beats else {})

    def _processes(self, data: bytes, count: int) -> dict[str, Process]:
        """The latest process line of each process, under the run that its first one named."""
        lines = [line for line in decode_lines(_lines_beginning(data, b'{"kind":"process"')) if type(line) is Process]
        if len(lines) != count:  # somebody writes them differently from how we do
            lines = [line for line in decode_lines(data) if type(line) is Process]
        latest = dict(zip(map(_proc, lines), lines, strict=True))
        first = dict(zip(map(_proc, reversed(lines)), reversed(lines), strict=True))
        for proc, line in latest.items():
            run = self._runs.get(proc) or first[proc].run
            if line.run != run:
                latest[proc] = msgspec.structs.replace(line, run=run)
        return latest

    # -- one transaction

    def _transact(self, data: bytes, chunk: Chunk, source: str) -> int:
        loaded = self._load(data)
        runs = {proc: line.run for proc, line in loaded.processes.items() if proc not in self._runs}
        self._name_runs({runs.get(proc) or self._runs.get(proc, UNKNOWN) for proc in loaded.heard})
        try:
            self._commit(lambda: self._insert(loaded, chunk.start.segment), lambda: self._note(chunk.end, source))
        finally:
            if len(data) >= _WORTH_DROPPING:
                self._cursor.execute("DROP TABLE IF EXISTS incoming")
        self._runs.update(runs)
        self._marks.update((proc, max(self._marks.get(proc, 0), heard.last)) for proc, heard in loaded.heard.items())
        self._sources.add(source)
        return sum(heard.lines for heard in loaded.heard.values())

    def _insert(self, loaded: _Loaded, segment: int) -> None:
        at = {"segment": segment}
        late = self._insert_processes(loaded, segment)
        for kind, statements in _BY_KIND.items():
            if kind in loaded.kinds:
                for statement in statements:
                    self._run(statement, at)
        if not loaded.kinds.isdisjoint(_POINTS):
            self._run("insert_point", at)
        if late:
            for table in TABLES:
                self._cursor.execute(load("relabel").format(table=table), {"procs": late})
        if any(self._has_hole(proc, heard) for proc, heard in loaded.heard.items()):
            self._run("insert_hole", at)
        self._raise_marks(loaded.heard)
        self._project_open(loaded, at)

    def _insert_processes(self, loaded: _Loaded, segment: int) -> list[str]:
        """Write down who records; returns those who had lines here before."""
        known = [line for proc, line in loaded.processes.items() if proc in self._runs]
        new = [line for proc, line in loaded.processes.items() if proc not in self._runs]
        for statement, lines in (("update_process", known), ("insert_process", new)):
            if lines:
                self._file.write_bytes(encode_lines(lines))
                self._run(statement, {"segment": segment, "file": str(self._file)})
                self._file.unlink()
        return [line.proc for line in new if line.proc in self._marks]

    def _has_hole(self, proc: str, heard: _Heard) -> bool:
        return heard.first > self._marks.get(proc, 0) + 1 or heard.lines != heard.last - heard.first + 1

    def _raise_marks(self, heard: dict[str, _Heard]) -> None:
        for statement, procs in (
            ("update_mark", [proc for proc in heard if proc in self._marks]),
            ("insert_mark", [proc for proc in heard if proc not in self._marks]),
        ):
            if procs:
                self._run(
                    statement,
                    {
                        "procs": procs,
                        "seqs": [heard[proc].last for proc in procs],
                        "lines": [heard[proc].lines for proc in procs],
                        "first_ts": [heard[proc].first_ts for proc in procs],
                        "last_ts": [heard[proc].last_ts for proc in procs],
                    },
                )
        self._run("update_times", {"procs": list(heard)})

    def _project_open(self, loaded: _Loaded, at: dict[str, int]) -> None:
        if "open" in loaded.kinds:
            if self._open_spans:
                self._run("forget_open")
            self._run("insert_open", at)
        elif not self._open_spans:
            return
        if "span" in loaded.kinds:
            self._run("close_ended")
        finished = [proc for proc, line in loaded.processes.items() if line.state == "finished"]
        if finished:
            self._run("close_finished", {"procs": finished})
        # With none open the next chunk need not look.
        self._open_spans = self._count_open()

    def _name_runs(self, runs: set[str]) -> None:
        """Make the view `line` say the run of each line, in the cheapest way."""
        one = runs.pop() if len(runs) == 1 else None
        if one is not None and one != self._one_run:
            self._cursor.execute("SET VARIABLE run = $run", {"run": one})
            self._one_run = one
        view = "lines_of_runs" if one is None else "lines_of_one_run"
        if view != self._view:
            self._run(view)
            self._view = view

    def _note(self, position: Position, source: str) -> None:
        at = {"source": source, "segment": position.segment, "offset": position.offset}
        self._run("update_position" if source in self._sources else "insert_position", at)

    def _set_aside(self, chunk: Chunk, source: str, error: str) -> Projected:
        logger.warning("projection: an unreadable line in %s at %s: %s", source, tuple(chunk.start), error)
        start = {"source": source, "segment": chunk.start.segment, "offset": chunk.start.offset}
        self._commit(
            lambda: self._run("insert_unreadable", {**start, "line": chunk.data, "error": error}),
            lambda: self._note(chunk.end, source),
        )
        self._sources.add(source)
        return Projected(0, 1)

    def _commit(self, *steps: Callable[[], None]) -> None:
        self._cursor.execute("BEGIN")
        try:
            for step in steps:
                step()
            self._cursor.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        self._open_spans = -1  # not known any more; anything but 0 makes the next chunk look
        try:
            self._cursor.execute("ROLLBACK")
        except duckdb.Error:
            logger.debug("projection: nothing to roll back")

    def _run(self, statement: str, params: Mapping[str, object] | None = None) -> None:
        self._cursor.execute(load(statement), params)

    def _count_open(self) -> int:
        row = self._cursor.execute("SELECT count(*) FROM open_span").fetchone()
        return int(row[0]) if row else 0


def _lines_beginning(data: bytes, start: bytes) -> bytes:
    """The lines with this beginning; few have it."""
    found = [data[: data.find(b"\n") + 1]] if data.startswith(start) else []
    at = data.find(b"\n" + start) + 1
    while at:
        end = data.find(b"\n", at) + 1
        found.append(data[at:end])
        at = data.find(b"\n" + start, end - 1) + 1
    return b"".join(found)
