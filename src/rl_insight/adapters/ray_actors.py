"""The actors of a job: the collector, the relay to a server that only one node can reach, a sampler on each node."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from rl_insight import config
from rl_insight.ship import lifecycle
from rl_insight.ship.http import HttpSink
from rl_insight.ship.sink import Batch, Refused, TooLarge, Unavailable

_START_SECONDS = 120.0
_TAKE_OVER_SECONDS = 30.0
_LOOK_SECONDS = 2.0
# When nobody can be asked whether the job is over, this much silence means that it is.
_SILENCE_SECONDS = 600.0


class Post(msgspec.Struct):
    """What an actor that outlives its driver for a moment has to know of itself."""

    name: str
    namespace: str
    job: str
    heartbeat: float  # of the processes that send to it


class Told(msgspec.Struct):
    """What the collector actor is told by the process that starts it, and again by Ray when it is restarted."""

    post: Post
    folder: str
    port: int
    detached: bool
    settings: config.Collector
    environment: dict[str, str] = {}


class Whereabouts(msgspec.Struct):
    """What the collector actor remembers in its data folder, so that it comes back as it was."""

    actor: str
    port: int
    pid: int = 0


class Watch:
    """Ends an actor once its job is over and whoever sent to it is silent. Ray itself would end it amid that."""

    def __init__(self, post: Post, close: Callable[[], None] = lambda: None) -> None:
        self.heard = time.monotonic()
        self.over = False
        self._post = post
        self._close = close

    def start(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self._run, name="rl-insight-watch", daemon=True).start()

    def _run(self) -> None:
        while not self.over:
            time.sleep(_LOOK_SECONDS)
            silence = time.monotonic() - self.heard
            # Processes of the job that outlive it are heard from at least once a heartbeat.
            if silence > self._post.heartbeat + 1 and is_over(self._post.job, silence):
                self._close()
                self.over = True
        with contextlib.suppress(Exception):
            import ray

            ray.kill(ray.get_actor(self._post.name, namespace=self._post.namespace), no_restart=True)


class Collector:
    """The collector of a job: takes batches as actor calls, and serves page, API and metrics on its node."""

    def __init__(self, told: bytes) -> None:
        import ray

        self._told = msgspec.json.decode(told, type=Told)
        os.environ.update(self._told.environment)
        self._node: str = ray.get_runtime_context().get_node_id()
        self._up = threading.Event()
        self._ended = False
        self._failure = ""
        self._url = self._token = ""
        self._folder = Path(self._told.folder)
        self._service: Any = None
        from rl_insight.serve.server import Switch

        self._switch = Switch()
        self._server = threading.Thread(target=self._serve, name="rl-insight-serve", daemon=True)
        self._server.start()
        self._up.wait(_START_SECONDS)
        if self._service is None or self._failure:
            raise RuntimeError(f"the collector could not start: {self._failure or 'it took too long'}")
        self._watch: Watch = Watch(self._told.post, self._close)
        if not self._told.detached:
            self._watch.start()

    async def lines(self, body: bytes) -> dict[str, Any]:
        """Take a batch; the answer is that of `POST /v1/lines`, with its status."""
        from rl_insight.collect import Busy, DiskFull, Stopping
        from rl_insight.schema import BadLine

        self._watch.heard = time.monotonic()
        limit = self._service.max_body_bytes
        if len(body) > limit:
            return {
                "status": 413,
                "error": f"a batch of {len(body)} bytes is over the limit of {limit}",
                "limit": limit,
            }
        try:
            accepted = await asyncio.wrap_future(self._service.submit(body))
        except BadLine as bad:
            return {"status": 400, "error": str(bad)}
        except Busy as busy:
            return {"status": 429, "error": str(busy), "retry_after": 1}
        except DiskFull as full:
            return {"status": 507, "error": full.strerror or str(full)}
        except Stopping as stopping:
            return {"status": 503, "error": str(stopping), "retry_after": 1}
        except OSError as error:
            return {"status": 500, "error": error.strerror or str(error)}
        return {
            "status": 200,
            "accepted": accepted.accepted,
            "duplicates": accepted.duplicates,
            "clock": time.time_ns(),
        }

    async def targets(self, body: bytes) -> dict[str, Any]:
        """Register engines; the answer is that of `POST /api/v1/prometheus/targets`, with its status."""
        from rl_insight.collect.targets import BadTarget, Registration, checked

        try:
            asked = checked(msgspec.json.decode(body, type=Registration))
            await asyncio.to_thread(self._service.scraping.add, asked)
        except (msgspec.DecodeError, BadTarget) as bad:
            return {"status": 400, "error": str(bad)}
        except OSError as error:
            return {"status": 507, "error": str(error)}
        return {"status": 200}

    async def where(self) -> dict[str, Any]:
        """Where it is, for people and for processes on its node."""
        return {
            "url": self._url,
            "token": self._token,
            "folder": str(self._folder),
            "node": self._node,
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }

    async def settle(self) -> None:
        """Return once everything accepted so far can be queried."""
        await asyncio.to_thread(self._service.projector.catch_up)

    async def close(self) -> None:
        """Store everything and let go of the data folder. Whoever sends afterwards has to keep it."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._ended = self._watch.over = True
        self._switch.off()
        self._server.join()

    def _serve(self) -> None:
        try:
            if not any(self._served_from(folder, port) for folder in self._folders() for port in self._ports(folder)):
                self._failure = self._failure or "no data folder is free"
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"
        finally:
            if self._up.is_set() and not self._ended:
                os._exit(1)  # ended by itself: Ray starts another one, which finds everything
            self._up.set()

    def _served_from(self, folder: Path, port: int) -> bool:
        """Serve until told to stop; False when the folder or the port is somebody else's."""
        from rl_insight.serve.address import Address, InUse, is_locked
        from rl_insight.serve.server import PortTaken, serve
        from rl_insight.serve.service import CollectorService

        settings = msgspec.structs.replace(self._told.settings, port=port, data_dir=str(folder))
        if self._was_here(folder):
            # The process that we come after may take a moment to die.
            deadline = time.monotonic() + _TAKE_OVER_SECONDS
            while is_locked(folder) and time.monotonic() < deadline:
                time.sleep(0.1)

        def open_service() -> Any:
            self._service = CollectorService.open(folder, settings)
            return self._service

        def ready(found: Address, token: str) -> None:
            self._failure = ""
            self._folder, self._url, self._token = folder, found.url, token
            mine = Whereabouts(self._told.post.name, found.port, os.getpid())
            (folder / "actor.json").write_bytes(msgspec.json.encode(mine))
            self._up.set()

        try:
            serve(folder, settings, open_service, ready=ready, switch=self._switch)
        except (InUse, PortTaken) as taken:
            self._failure = str(taken)
            return False
        return True

    def _folders(self) -> list[Path]:
        """The folder we were in before, the wanted one or, when somebody else works in it, another beside it."""
        wanted = Path(self._told.folder)
        beside = [wanted.with_name(f"{wanted.name}-{self._told.post.job}{tail}") for tail in ("", "-2", "-3")]
        return sorted([wanted, *beside], key=lambda folder: not self._was_here(folder))

    def _ports(self, folder: Path) -> list[int]:
        """The port of the process that we come after, the wanted one, any."""
        return [*([_left(folder).port] if self._was_here(folder) else []), self._told.port, 0]

    def _was_here(self, folder: Path) -> bool:
        return _left(folder).actor == self._told.post.name


def actor_in(folder: Path) -> int:
    """The process of the collector actor that works, or last worked, in a data folder; 0: none."""
    return _left(folder).pid


def _left(folder: Path) -> Whereabouts:
    try:
        return msgspec.json.decode((folder / "actor.json").read_bytes(), type=Whereabouts)
    except (OSError, msgspec.DecodeError):
        return Whereabouts("", 0)


def is_over(job: str, silence: float) -> bool:
    """Whether a job's driver is gone."""
    try:
        from ray._private.state import jobs

        table: list[dict[str, Any]] = jobs()  # type: ignore[no-untyped-call]
        return all(one["IsDead"] for one in table if one["JobID"] == job)
    except Exception:  # no public way of asking; should this one go, the silence has to do
        return silence > _SILENCE_SECONDS


class Relay:
    """Passes batches on to a server that listens on this node's loopback only."""

    def __init__(self, url: str, token: str, timeout: float, post: bytes) -> None:
        self._url, self._token, self._timeout = url, token, timeout
        self._sinks = threading.local()
        self._watch = Watch(msgspec.json.decode(post, type=Post))
        self._watch.start()

    def lines(self, body: bytes) -> dict[str, Any]:
        """Take a batch; the answer is the server's."""
        self._watch.heard = time.monotonic()
        sink = getattr(self._sinks, "sink", None)
        if sink is None:
            sink = self._sinks.sink = HttpSink(self._url, self._token, timeout=self._timeout)
        try:
            ack = sink.send(Batch(body, 0))
        except Unavailable as failed:
            return {"status": 503, "error": str(failed), "retry_after": failed.retry_after}
        except TooLarge as failed:
            return {"status": 413, "error": str(failed), "limit": failed.limit}
        except Refused as failed:
            return {"status": 400, "error": str(failed)}
        return {"status": 200, "accepted": ack.accepted, "duplicates": ack.duplicates, "clock": ack.clock}

    def targets(self, body: bytes) -> dict[str, Any]:
        """Register engines; the answer is the server's."""
        from rl_insight.ship.targets import Unheard, post

        try:
            status, said = post(self._url, self._token, body)
        except Unheard as unheard:
            return {"status": 503, "error": str(unheard)}
        return {"status": status, "error": said}


class Sampler:
    """Joins the run on one node, to sample its resources, and to deliver what processes that died there left."""

    def __init__(self) -> None:
        import rl_insight

        rl_insight.init(role="sampler")

    def deliver(self, timeout: float) -> None:
        """Deliver what processes of this node that have ended left on disk."""
        running = lifecycle.shipment()
        if running is not None:
            running.sender.look_for_orphans = _LOOK_SECONDS
            running.sender.deliver_orphans(timeout)

    def close(self, timeout: float) -> None:
        """Deliver what is left on this node, and say that this is the end."""
        self.deliver(timeout)
        import rl_insight

        rl_insight.close(timeout)
