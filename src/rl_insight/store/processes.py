"""Process lines, read back from the store: for who has to know the writer of a line far behind in the log."""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight.collect import Position
from rl_insight.schema import Process
from rl_insight.store.database import Store, Table
from rl_insight.store.sql import load

Counted = dict[tuple[str, frozenset[tuple[str, str]]], float]
_JSON = ("versions", "aliases", "labels", "attrs")


def processes(store: Store, procs: list[str]) -> list[Process]:
    """The processes of these names that the store knows."""
    return _lines(store.named("processes_by_name", folder="statements", procs=procs))


def processes_beginning(store: Store, prefix: str) -> list[Process]:
    """The processes whose names begin so."""
    return _lines(store.named("processes_by_prefix", folder="statements", prefix=prefix))


def live_runs(store: Store, now: int, prefix: str) -> list[tuple[str, str | None, str | None]]:
    """Run, project and experiment of what is being recorded, by others than those whose names begin with `prefix`."""
    return store.named("live_runs", folder="statements", now=now, prefix=prefix).rows


def counted_since(store: Store, procs: list[str], since: int) -> Counted:
    """What these processes have counted after a moment, by name and labels."""
    rows = store.named("counted_since", folder="statements", procs=procs, since=since).rows
    return {
        (name, frozenset((msgspec.json.decode(labels) if labels else {}).items())): value
        for name, labels, value in rows
    }


def note_position(store: Store, source: str, position: Position) -> None:
    """Write down how far a reader of the log has come, for whoever asks the store."""
    at = {"source": source, "segment": position.segment, "offset": position.offset}
    cursor = store.cursor()
    try:
        known = cursor.execute("SELECT count(*) FROM position WHERE source = $source", {"source": source}).fetchone()
        cursor.execute(load("update_position" if known and known[0] else "insert_position"), at)
    finally:
        cursor.close()


def _lines(table: Table) -> list[Process]:
    return [line for row in table.dicts() if (line := _line(row)) is not None]


def _line(row: dict[str, Any]) -> Process | None:
    said = {
        key: msgspec.json.decode(value) if key in _JSON else value for key, value in row.items() if value is not None
    }
    try:
        return msgspec.convert({"kind": "process", **said}, Process)
    except msgspec.ValidationError:
        return None
