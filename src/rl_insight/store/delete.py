"""Takes lines away again: a run that somebody deletes, and segments that are over the limits.

A deleted run is gone from the store and from the log. Its processes keep their marks, so that a late retry is not
taken for something new. A process that is still alive goes on: what it writes after the deletion is kept, and shows
under the same run from its next heartbeat on.
"""

from __future__ import annotations

from functools import partial
from itertools import compress
from operator import attrgetter, not_
from pathlib import Path

import msgspec

from rl_insight.collect import LineLog
from rl_insight.collect.marks import readable
from rl_insight.collect.segments import replace_durably, sync_directory
from rl_insight.schema import BadLine, decode_lines
from rl_insight.store.database import LOG, TABLES, Store
from rl_insight.store.sql import load

_proc = attrgetter("proc")


class Deleted(msgspec.Struct):
    """What a deletion has removed."""

    run: str
    lines: int


class _Intent(msgspec.Struct):
    """A deletion under way: written down first, so that a killed collector can finish it."""

    run: str
    procs: list[str]
    through: int


def delete_run(store: Store, log: LineLog, run: str) -> Deleted:
    """Remove a run. The active segment holds nothing that is projected, and nobody else writes to the store."""
    found = store.named("processes_of_run", folder="statements", run=run)
    marks = {proc: seq for proc, seq, _ in found.rows}
    lines = sum(count for _, _, count in found.rows)
    if marks:
        log.keep_marks(marks)
        intent = _Intent(run, list(marks), log.end.segment - 1)
        replace_durably(_intent_path(log), msgspec.json.encode(intent))
        finish_deletion(store, log)
    return Deleted(run, lines)


def finish_deletion(store: Store, log: LineLog) -> None:
    """Carry out a deletion that has been written down, be it from before the collector was killed."""
    path = _intent_path(log)
    if not path.exists():
        return
    intent = msgspec.json.decode(path.read_bytes(), type=_Intent)
    _remove_rows(store, intent)
    for number in log.segments():
        if number <= intent.through:
            log.rewrite(number, partial(_without, frozenset(intent.procs)))
    path.unlink()
    sync_directory(log.directory)


def forget_segments(store: Store, log: LineLog, through: int) -> None:
    """Remove the rows of segments that are about to be dropped from the log."""
    log.keep_marks(store.marks())
    cursor = store.cursor()
    try:
        cursor.execute("BEGIN")
        for table in (*TABLES, "process", "hole"):
            cursor.execute(load("forget_segments").format(table=table), {"through": through})
        cursor.execute(load("forget_unreadable"), {"source": LOG, "through": through})
        cursor.execute("COMMIT")
    finally:
        cursor.close()


def seed_marks(store: Store, log: LineLog) -> None:
    """Give a new store the marks of processes whose lines are no longer in the log."""
    marks = log.kept_marks() if not store.marks() else {}
    if marks:
        cursor = store.cursor()
        try:
            cursor.execute(load("seed_marks"), {"procs": list(marks), "seqs": list(marks.values())})
        finally:
            cursor.close()


def _remove_rows(store: Store, intent: _Intent) -> None:
    cursor = store.cursor()
    where = {"procs": intent.procs, "through": intent.through}
    try:
        cursor.execute("BEGIN")
        for table in (*TABLES, "process", "hole"):
            cursor.execute(load("forget_processes").format(table=table), where)
        cursor.execute(load("forget_lines"), {"procs": intent.procs})
        cursor.execute("COMMIT")
    finally:
        cursor.close()


def _without(procs: frozenset[str], data: bytes) -> bytes:
    try:
        lines = decode_lines(data)
    except BadLine:
        # Damage somewhere in it: line by line then, and what cannot be read stays as it is.
        parts = [raw + b"\n" for raw in data.split(b"\n")[:-1]]
        return b"".join([raw for raw in parts if not any(line.proc in procs for line in readable(raw))])
    drop = list(map(procs.__contains__, map(_proc, lines)))
    if True not in drop:
        return data
    kept = list(compress(data.split(b"\n"), map(not_, drop)))
    return b"\n".join(kept) + b"\n" if kept else b""


def _intent_path(log: LineLog) -> Path:
    return log.directory / "deleting.json"
