"""A sink for processes that cannot reach their collector: others of the same node deliver what they leave on disk."""

from __future__ import annotations

from pathlib import Path

from rl_insight.ship.sink import Ack, Batch, Unavailable
from rl_insight.ship.spool import Spool, SpoolFull


class HandedSink:
    """Writes straight to the spool for `url`. Whoever sends there from this node delivers it once we are gone."""

    destination = ""

    def __init__(self, url: str, folder: Path, limit: int) -> None:
        self.url = url
        self._spool = Spool(folder, limit)

    def send(self, batch: Batch) -> Ack:
        """Append a batch to the spool."""
        try:
            self._spool.put(batch.body)
        except SpoolFull as full:
            raise Unavailable(str(full)) from None
        return Ack(batch.lines)

    def close(self) -> None:
        """Leave the folder to others."""
        self._spool.close()

    def abandon(self) -> None:
        """In a forked child: the folder is the parent's."""
        self._spool.abandon()

    def describe(self) -> str:
        """Where the lines go."""
        return f"{self._spool.folder}, to be delivered to {self.url} by another process of this node"
