"""The live stream: tells the page which runs have more, so that it asks again for what it shows."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import anyio.to_thread
import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rl_insight.read.rows import Rows, answers
from rl_insight.serve.service import Service

# Stored within this long, told within this long: together with the flush this stays below a second.
LOOK_SECONDS = 0.1
# At most four times a second, however fast lines come.
TELL_SECONDS = 0.25
# Silence would look like a dead connection, to the page and to proxies.
BREATH_SECONDS = 5.0


class Stored(msgspec.Struct, frozen=True):
    """A run, how many lines of it are stored, and the moment of the last (epoch ms)."""

    run: str
    lines: int
    last: float | None


class Told(msgspec.Struct):
    """One event: the server's clock (epoch ms) and the runs that have grown since the last event."""

    clock: float
    runs: list[Stored]


class Watch:
    """Looks at the store once for all who listen, and only while somebody does."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._seen: dict[str, Stored] = {}
        self._changed = asyncio.Condition()
        self._listeners = 0
        self._task: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[Watch]:
        """Look while this is open."""
        self._listeners += 1
        if self._task is None:
            await self._look()
            self._task = asyncio.create_task(self._follow())
        try:
            yield self
        finally:
            self._listeners -= 1
            if self._listeners == 0 and self._task is not None:
                self._task.cancel()
                self._task = None

    def since(self, told: dict[str, Stored]) -> list[Stored]:
        """Runs that are not as in `told`."""
        return [one for one in self._seen.values() if told.get(one.run) != one]

    async def change(self, seconds: float) -> None:
        """Wait until something was stored, but no longer than this."""
        async with self._changed:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)

    async def _follow(self) -> None:
        while not self._service.stopping:
            await asyncio.sleep(LOOK_SECONDS)
            await self._look()

    async def _look(self) -> None:
        with contextlib.suppress(Exception):  # a store that cannot answer now is asked again in a moment
            seen = {one.run: one for one in await anyio.to_thread.run_sync(stored, self._service.store)}
            if seen != self._seen:
                self._seen = seen
                async with self._changed:
                    self._changed.notify_all()


def stored(source: Rows) -> list[Stored]:
    """How much of each run there is."""
    return answers(source, "stored", Stored)


async def live(request: Request) -> Response:
    service: Service = request.app.state.service
    watch: Watch | None = getattr(request.app.state, "watch", None)
    if watch is None:
        watch = request.app.state.watch = Watch(service)
    return StreamingResponse(
        _events(service, watch),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(service: Service, watch: Watch) -> AsyncIterator[bytes]:
    async with watch.listening():
        told: dict[str, Stored] = {}
        while not service.stopping:
            news = watch.since(told)
            told.update({one.run: one for one in news})
            yield b"data: " + msgspec.json.encode(Told(time.time() * 1e3, news)) + b"\n\n"
            started = time.monotonic()
            while not watch.since(told) and time.monotonic() - started < BREATH_SECONDS and not service.stopping:
                await watch.change(0.5)
            await asyncio.sleep(max(0.0, TELL_SECONDS - (time.monotonic() - started)))


ROUTES = [Route("/api/v1/live", live)]
