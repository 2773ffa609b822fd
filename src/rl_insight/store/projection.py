"""Turns lines into rows. DuckDB reads the lines itself; rows, marks and position change in one transaction."""

from __future__ import annotations

import logging
from typing import NamedTuple

import duckdb

from rl_insight.collect import Chunk, Position
from rl_insight.schema import KINDS, BadLine, decode_lines, encode_lines
from rl_insight.store.database import LOG, TABLES, Store
from rl_insight.store.sql import load

logger = logging.getLogger(__name__)

# What is raised about the lines themselves; the last when DuckDB cuts its message inside a character. All else
# (disk, memory, its own bugs) is not the lines' fault.
_ABOUT_DATA = (duckdb.DataError, duckdb.InvalidInputException, UnicodeDecodeError)
_LONGEST = 16 * 2**20
_BY_KIND = {
    "span": ("insert_span",),
    "log": ("insert_log",),
    "fact": ("insert_fact", "insert_fact_tag"),
    "lost": ("insert_lost",),
}
_POINTS = ("gauge", "count", "sample")


class Projected(NamedTuple):
    """What became of a chunk."""

    lines: int
    unreadable: int


class Projection:
    """Writes chunks of lines into a store. One thread uses it, with a connection of its own."""

    def __init__(self, store: Store) -> None:
        self._cursor = store.cursor()
        self._file = store.tmp / f"chunk-{id(self):x}.jsonl"
        self._open_spans = self._count("SELECT count(*) FROM open_span")

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
        self._cursor.execute("BEGIN")
        self._note(position, source)
        self._cursor.execute("COMMIT")

    def close(self) -> None:
        """Let go of the connection."""
        self._file.unlink(missing_ok=True)
        self._cursor.close()

    # -- one transaction

    def _transact(self, data: bytes, chunk: Chunk, source: str) -> int:
        cursor = self._cursor
        longest = max(_LONGEST, len(data))
        try:
            self._file.write_bytes(data)
            cursor.execute(load("load_lines"), {"file": str(self._file), "longest": longest})
            kinds = self._kinds()
            if kinds.get("process"):
                self._load_processes(data, kinds["process"], longest)
        finally:
            # Gone before the disk has to write it.
            self._file.unlink(missing_ok=True)
        cursor.execute(load("heard"))
        cursor.execute("BEGIN")
        try:
            open_spans = self._insert(kinds, chunk.start.segment)
            self._note(chunk.end, source)
            cursor.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        finally:
            cursor.execute("DROP TABLE IF EXISTS incoming")
        self._open_spans = open_spans
        return sum(kinds.values())

    def _kinds(self) -> dict[str, int]:
        found = self._cursor.execute(load("kinds")).fetchall()
        for kind, _, broken in found:
            if broken or kind not in KINDS:
                raise duckdb.DataError(f"the chunk holds something of kind {kind} that is no line")
        return {kind: count for kind, count, _ in found}

    def _load_processes(self, data: bytes, count: int, longest: int) -> None:
        self._file.write_bytes(_lines_beginning(data, b'{"kind":"process"'))
        if self._read_processes(longest) != count:  # somebody writes them differently from how we do
            self._file.write_bytes(data)
            self._read_processes(longest)

    def _insert(self, kinds: dict[str, int], segment: int) -> int:
        at = {"segment": segment}
        late: list[str] = []
        if "process" in kinds:
            late = [proc for (proc,) in self._cursor.execute(load("late_processes")).fetchall()]
            self._run("update_process", at)
            self._run("insert_process", at)
        self._name_runs()
        for kind, statements in _BY_KIND.items():
            if kind in kinds:
                for statement in statements:
                    self._run(statement, at)
        if any(kind in kinds for kind in _POINTS):
            self._run("insert_point", at)
        if late:
            self._relabel(late)
        if self._cursor.execute(load("has_hole")).fetchone() == (True,):
            self._run("insert_hole", at)
        self._run("update_mark")
        self._run("insert_mark")
        self._run("update_times")
        return self._project_open(kinds, at)

    def _project_open(self, kinds: dict[str, int], at: dict[str, int]) -> int:
        """Bring the open intervals up to date; returns how many there are: with none, the next chunk has less to do."""
        if "open" in kinds:
            if self._open_spans:
                self._run("forget_open")
            self._run("insert_open", at)
        elif not self._open_spans:
            return 0
        if "span" in kinds:
            self._run("close_ended")
        if "process" in kinds:
            self._run("close_finished")
        return self._count("SELECT count(*) FROM open_span")

    def _name_runs(self) -> None:
        runs = self._cursor.execute(load("runs_heard")).fetchall()
        if len(runs) == 1:
            self._cursor.execute("SET VARIABLE run = $run", {"run": runs[0][0]})
            self._run("lines_of_one_run")
        else:
            self._run("lines_of_runs")

    def _relabel(self, procs: list[str]) -> None:
        for table in TABLES:
            self._cursor.execute(load("relabel").format(table=table), {"procs": procs})

    def _note(self, position: Position, source: str) -> None:
        at = {"source": source, "segment": position.segment, "offset": position.offset}
        self._run("update_position", at)
        self._run("insert_position", at)

    def _set_aside(self, chunk: Chunk, source: str, error: str) -> Projected:
        logger.warning("projection: an unreadable line in %s at %s: %s", source, tuple(chunk.start), error)
        cursor = self._cursor
        cursor.execute("BEGIN")
        try:
            self._run(
                "insert_unreadable",
                {
                    "source": source,
                    "segment": chunk.start.segment,
                    "offset": chunk.start.offset,
                    "line": chunk.data,
                    "error": error,
                },
            )
            self._note(chunk.end, source)
            cursor.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return Projected(0, 1)

    def _read_processes(self, longest: int) -> int:
        self._run("load_processes", {"file": str(self._file), "longest": longest})
        return self._count("SELECT coalesce(max(total), 0) FROM incoming_process")

    def _run(self, statement: str, params: dict[str, object] | dict[str, int] | None = None) -> None:
        self._cursor.execute(load(statement), params)

    def _count(self, sql: str) -> int:
        row = self._cursor.execute(sql).fetchone()
        return int(row[0]) if row else 0

    def _roll_back(self) -> None:
        try:
            self._cursor.execute("ROLLBACK")
        except duckdb.Error:
            logger.debug("projection: nothing to roll back")


def _lines_beginning(data: bytes, start: bytes) -> bytes:
    """The lines with this beginning; few have it."""
    found = [data[: data.find(b"\n") + 1]] if data.startswith(start) else []
    at = data.find(b"\n" + start) + 1
    while at:
        end = data.find(b"\n", at) + 1
        found.append(data[at:end])
        at = data.find(b"\n" + start, end - 1) + 1
    return b"".join(found)
