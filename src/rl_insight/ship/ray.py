"""Ray as seen from a recording process: where in a job it is, what the job's notice says, and a sink to an actor.

Nothing here imports Ray. A process that uses Ray has imported it before.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

import msgspec

from rl_insight.ship.sink import Ack, Batch, Refused, TooLarge, Unavailable

SCHEME = "ray-actor"
_BOARD = b"rl_insight"
_LOOK_SECONDS = 3.0
_MISSING_SECONDS = 3.0

T = TypeVar("T")


class Place(msgspec.Struct, frozen=True):
    """Where in a Ray cluster a process is."""

    job: str
    node: str
    worker: bool
    actor: str = ""
    actor_name: str = ""
    actor_class: str = ""

    def aliases(self) -> dict[str, str]:
        """What Ray calls this process, for its process line."""
        names = {
            "ray_job": self.job,
            "ray_node": self.node,
            "ray_actor": self.actor,
            "ray_actor_name": self.actor_name,
            "ray_actor_class": self.actor_class,
        }
        return {key: value for key, value in names.items() if value}


class Notice(msgspec.Struct):
    """What the process that leads a job's run tells the others: which run, and where its lines go."""

    run: str
    ready: bool = False  # else its leader has only just begun
    project: str | None = None
    experiment: str | None = None
    told: str = ""  # further settings, as `config.inherited` writes them
    url: str = ""  # of a collector: http://… or ray-actor://…
    token: str = ""
    node: str = ""  # the Ray node on which that collector is
    relay: str = ""  # for processes on other nodes, when `url` is of loopback
    page: str = ""  # where a collector actor serves the page on its node
    page_token: str = ""
    collector: str = ""  # how to start that collector again, should its node be lost
    folder: str = ""  # of line files, when there is no collector
    leader: str = ""  # who wrote this


_seen_in = 0  # the process in which Ray was found to work


def in_ray() -> bool:
    """Whether this process belongs to a Ray job."""
    global _seen_in
    ray = sys.modules.get("ray")
    if ray is None or not hasattr(ray, "is_initialized") or not ray.is_initialized():
        return False
    # A driver that uses Ray from afar (ray://) has no node, and nobody there could write to its disk.
    client = sys.modules.get("ray.util.client")
    if client is not None and client.ray.is_connected():
        return False
    # A forked child has its parent's Ray in memory, and none of the threads that make it work.
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return False
    _seen_in = _seen_in or os.getpid()
    return _seen_in == os.getpid()


def place() -> Place:
    """Where this process is. Called in the thread that runs the actor or task."""
    import ray

    context = ray.get_runtime_context()
    worker = getattr(context, "worker", None)
    mode = getattr(worker, "mode", None)
    if mode is not None and mode == getattr(ray, "LOCAL_MODE", None):
        raise RuntimeError("in Ray's local mode there are no other processes")
    is_worker = mode == ray.WORKER_MODE
    actor = (context.get_actor_id() or "") if is_worker else ""
    return Place(
        job=context.get_job_id(),
        node=context.get_node_id(),
        worker=is_worker,
        actor=actor,
        actor_name=(context.get_actor_name() or "") if actor else "",
        actor_class=_class_name(worker, actor) if actor else "",
    )


def _class_name(worker: Any, actor: str) -> str:
    for identity, instance in getattr(worker, "actors", {}).items():
        if identity.hex() == actor:
            # Ray makes a class of its own out of the user's, with the same name.
            return type(instance).__name__
    return ""


def read_notice(job: str, timeout: float = _LOOK_SECONDS) -> Notice | None:
    """What was told to a job; None when nothing was, or Ray does not answer in time."""
    from ray.experimental.internal_kv import _internal_kv_get

    found = bounded(lambda: _internal_kv_get(job.encode(), namespace=_BOARD), timeout)
    try:
        return msgspec.json.decode(found, type=Notice) if found else None
    except msgspec.DecodeError:  # of another version
        return None


def put_notice(job: str, notice: Notice, *, replace: bool = False, timeout: float = _LOOK_SECONDS) -> bool:
    """Tell a job; False when somebody else has told it before, or Ray does not answer in time."""
    from ray.experimental.internal_kv import _internal_kv_put

    body = msgspec.json.encode(notice)
    there = bounded(lambda: _internal_kv_put(job.encode(), body, replace, namespace=_BOARD), timeout)
    return there is not None and (replace or not there)


def take_down_notice(job: str, leader: str, timeout: float = _LOOK_SECONDS) -> None:
    """Tell a job nothing any more, unless somebody else tells it by now."""
    from ray.experimental.internal_kv import _internal_kv_del

    notice = read_notice(job, timeout)
    if notice is not None and notice.leader == leader:
        bounded(lambda: _internal_kv_del(job.encode(), namespace=_BOARD), timeout)


def bounded(call: Callable[[], T], timeout: float) -> T | None:
    """What a call into Ray returns, or None when it fails or takes longer: its own time-outs are minutes."""
    found: list[T] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception:  # Ray is going away, or cannot be reached: there is no answer then
            return

    thread = threading.Thread(target=run, name="rl-insight-ray", daemon=True)
    thread.start()
    thread.join(timeout)
    return found[0] if found else None


def actor_url(namespace: str, name: str) -> str:
    """The address of a collector that is an actor."""
    return f"{SCHEME}://{quote(namespace, safe='')}/{quote(name, safe='')}"


def is_actor_url(url: str) -> bool:
    """Whether an address is that of an actor."""
    return url.startswith(f"{SCHEME}://")


def parse_actor_url(url: str) -> tuple[str, str]:
    """Namespace and name of an actor's address."""
    parts = urlsplit(url)
    namespace, name = unquote(parts.netloc), unquote(parts.path.lstrip("/"))
    if not namespace or not name:
        raise ValueError(f"server.url {url!r} is not of the form {SCHEME}://namespace/actor-name")
    return namespace, name


class RaySink:
    """Hands batches to an actor by its name; finds it again when it was restarted."""

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self.url = url
        self.namespace, self.name = parse_actor_url(url)
        self._timeout = timeout
        self._actor: Any = None
        self._under_way: tuple[bytes, Any] | None = None
        self._pid = os.getpid()
        self.on_missing: Callable[[], None] | None = None
        self._missing_since = 0.0

    @property
    def destination(self) -> str:
        """Whose lines these are, whichever process delivers them."""
        return self.url

    def send(self, batch: Batch) -> Ack:
        """Call the actor, and wait for its answer."""
        ray = sys.modules.get("ray")
        # Asking Ray for anything after its shutdown would start another cluster.
        if ray is None or self._pid != os.getpid() or not ray.is_initialized():
            raise Unavailable("Ray is shut down in this process")
        try:
            answer = self._answer(ray, batch.body)
        except ray.exceptions.GetTimeoutError:
            raise Unavailable(f"actor {self.name} has not answered in {self._timeout:g} s") from None
        except Exception as error:  # it died, is being restarted or not yet there; or Ray itself is in trouble
            self.close()
            raise Unavailable(f"actor {self.name} cannot be reached: {_short(error)}") from None
        return read_answer(answer, f"actor {self.name}")

    def close(self) -> None:
        """Forget the actor; the next batch looks for it again."""
        self._actor = None
        self._under_way = None

    def abandon(self) -> None:
        """In a forked child: Ray's connections are the parent's."""
        self._actor = None
        self._under_way = None

    def describe(self) -> str:
        """Where the lines go."""
        return self.url

    def _answer(self, ray: Any, body: bytes) -> Any:
        # A call that is late is waited for, not made again: calls to an actor that is not up yet would pile up.
        if self._under_way is None or self._under_way[0] != body:
            if self._actor is None:
                self._actor = self._find(ray)
            self._under_way = body, self._actor.lines.remote(body)
        answer = ray.get(self._under_way[1], timeout=self._timeout)
        self._under_way = None
        return answer

    def _find(self, ray: Any) -> Any:
        try:
            found = ray.get_actor(self.name, namespace=self.namespace)
        except ValueError:
            # It is not dead for a moment, as one that is restarted; Ray has given it up, or somebody has ended it.
            now = time.monotonic()
            self._missing_since = self._missing_since or now
            if self.on_missing is not None and now - self._missing_since > _MISSING_SECONDS:
                self._missing_since = now
                self.on_missing()
            raise
        self._missing_since = 0.0
        return found


def read_answer(answer: Any, who: str) -> Ack:
    """What an actor's answer means to a sender."""
    status = answer.get("status")
    if status == 200:
        return Ack(answer["accepted"], answer.get("duplicates", 0), answer.get("clock"))
    message = f"{who} answered {status}: {answer.get('error')}"
    if status == 413:
        raise TooLarge(message, answer.get("limit"))
    if status == 400:
        raise Refused(message)
    raise Unavailable(message, float(answer.get("retry_after") or 0))


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
