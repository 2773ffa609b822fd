"""Makes the store anew from the log, beside the old one, and then puts it in its place."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from rl_insight import config
from rl_insight.collect import LineLog
from rl_insight.store.database import FILE, Store
from rl_insight.store.projector import Projector

_BUILDING = "store.new.duckdb"


class Rebuilt(msgspec.Struct):
    """What a rebuild has made."""

    lines: int
    unreadable: int
    seconds: float


def rebuild(
    data_dir: Path,
    progress: Callable[[int, int], None] | None = None,
    settings: config.Collector | None = None,
) -> Rebuilt:
    """Project the whole log of `data_dir` into a new store. No collector may be running on it.

    `progress` is told the bytes done and the bytes there are. Until the end the old store stays as it is.
    """
    settings = settings or config.Collector()
    began = time.monotonic()
    building = data_dir / _BUILDING
    _remove(building)
    log = LineLog(data_dir / "log", segment_bytes=settings.segment_bytes, fsync=settings.fsync)
    try:
        store = Store.open(data_dir, settings=settings, file=_BUILDING)
        try:
            projector = Projector(store, log)
            projector.catch_up(progress)
            status = projector.status()
            projector.stop()
            store.checkpoint()
        finally:
            store.close()
    finally:
        log.close()
    _remove(data_dir / FILE)
    building.replace(data_dir / FILE)
    return Rebuilt(status.lines, status.unreadable, time.monotonic() - began)


def _remove(path: Path) -> None:
    # The write-ahead log first: left alone beside another store, it would be played into it.
    path.with_name(path.name + ".wal").unlink(missing_ok=True)
    path.unlink(missing_ok=True)
