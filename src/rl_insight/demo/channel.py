"""A pipe to another process, readable from asyncio.

Every pair of processes has a pipe of its own: a queue shared by several readers has a lock, and a worker killed while
it holds that lock would stop all the others.
"""

from __future__ import annotations

import asyncio
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

Pipe: TypeAlias = "Connection[Any, Any]"


class Closed(Exception):
    """The process at the other end is gone."""


class Channel:
    """One end of a pipe inside an event loop."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()
        self.open = True
        asyncio.get_running_loop().add_reader(pipe.fileno(), self._read)

    def _read(self) -> None:
        try:
            self._inbox.put_nowait(self._pipe.recv())
        except (EOFError, OSError):
            self.close()

    async def receive(self) -> Any:
        """The next message; raises `Closed` when there will be none."""
        message = await self._inbox.get()
        if isinstance(message, Closed):
            raise message
        return message

    def send(self, message: Any) -> None:
        """Send, or do nothing when the other end is gone: its reader hears of that through `receive`."""
        if self.open:
            try:
                self._pipe.send(message)
            except OSError:
                self.close()

    def close(self) -> None:
        if self.open:
            self.open = False
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._pipe.close()
            self._inbox.put_nowait(Closed())
