"""Tells the server which engines to read metrics from. What cannot be told now is told when it can be.

verl registers its engines before it calls `init`, and from then on only `init` knows the run and the server: so what a
process has registered is kept, and told again once it records.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from rl_insight.config import ConfigError, data_dir, load
from rl_insight.record.recorder import recorder
from rl_insight.ship import lifecycle
from rl_insight.ship.choose import local_server
from rl_insight.ship.http import HttpSink
from rl_insight.ship.ray import RaySink, in_ray, is_actor_url, parse_actor_url

PATH = "/api/v1/prometheus/targets"
_TIMEOUT = 5.0
_RETRY_SECONDS = (1.0, 2.0, 5.0, 15.0, 30.0, 60.0)
_MOST_KEPT = 1000


class Unheard(Exception):
    """The server could not be told; it may be later."""


class Refused(Exception):
    """The server does not want it, and never will."""


_lock = threading.Lock()
_kept: dict[str, dict[str, Any]] = {}
_waiting: dict[str, dict[str, Any]] = {}
_retrying: int | None = None


def _after_fork() -> None:
    global _lock, _retrying
    _lock, _retrying = threading.Lock(), None
    _waiting.clear()


os.register_at_fork(after_in_child=_after_fork)


def register(asked: dict[str, Any]) -> bool:
    """Register targets with the server; False, after a warning that says what to do, when that is not done yet.

    `asked` is the body of the request without the run.
    """
    key = json.dumps([asked["targets"], asked.get("job_name")])
    with _lock:
        while len(_kept) >= _MOST_KEPT:
            _kept.pop(next(iter(_kept)))
        _kept[key] = asked
        _waiting.pop(key, None)
    try:
        tell(asked)
    except Refused as refused:
        with _lock:
            _kept.pop(key, None)
        recorder.problem("bad_target", f"targets were not registered: {refused}")
        return False
    except Unheard as unheard:
        if recorder.active:
            recorder.warn(f"rl-insight: targets are not registered yet, and will be tried again: {unheard}")
            _try_later(key, asked)
        else:
            recorder.warn(f"rl-insight: targets are kept until init(), which knows the server: {unheard}")
        return False
    return True


def recording() -> None:
    """Recording begins: tell the server what was registered before, now with the run it belongs to."""
    with _lock:
        kept = dict(_kept)
    for key, asked in kept.items():
        _try_later(key, asked)


def tell(asked: dict[str, Any]) -> None:
    """Tell the server once; raises `Unheard` or `Refused`."""
    run, url, token = _server()
    body = json.dumps({**asked, **({"run": run} if run else {})}).encode()
    status, said = _ask_actor(url, body) if is_actor_url(url) else post(url, token, body)
    if status == 400:
        raise Refused(f"{url} refused them: {said}")
    if status == 401:
        raise Unheard(f"{url} does not accept our token; set RL_INSIGHT_TOKEN to that of the server")
    if status != 200:
        raise Unheard(f"{url} answered {status}: {said}")


def post(url: str, token: str, body: bytes) -> tuple[int, str]:
    """Status and error of one request to a server; raises `Unheard` when there is no answer."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)
        try:
            connection.request("POST", parts.path.rstrip("/") + PATH, body, headers)
            response = connection.getresponse()
            content = response.read(1 << 16)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Unheard(f"{url} is not reachable: {reason}; does 'rl-insight server start' run there?") from None
    return response.status, _said(content) or response.reason


def _ask_actor(url: str, body: bytes) -> tuple[int, str]:
    """The same of a collector, or of a relay to one, that is a Ray actor."""
    namespace, name = parse_actor_url(url)
    ray: Any = sys.modules.get("ray")
    if not in_ray():
        raise Unheard(f"{name} is an actor, and this process is outside of Ray")
    try:
        answer = ray.get(ray.get_actor(name, namespace=namespace).targets.remote(body), timeout=_TIMEOUT)
    except Exception as error:  # not there yet, being restarted, or Ray itself is in trouble
        raise Unheard(f"actor {name} cannot be reached: {type(error).__name__}") from None
    return answer["status"], answer.get("error", "")


def _server() -> tuple[str | None, str, str]:
    """Run, address and token: those of the running sink, else of the settings, else of this machine's server."""
    run: str | None
    shipment = lifecycle.shipment()
    if recorder.active and shipment is None:
        raise Unheard("the run of this job is not known yet")
    if recorder.active and shipment is not None:
        run, used = shipment.identity.run, shipment.sink
        if isinstance(used, (HttpSink, RaySink)):
            return run, used.url, getattr(used, "token", "")
        config = shipment.config
    else:
        try:
            config = load()
        except ConfigError as error:
            raise Unheard(str(error)) from None
        run = config.run
    if is_actor_url(config.server.url):
        return run, config.server.url, ""
    if config.server.url:
        try:
            sink = HttpSink(config.server.url, config.server.token)
        except ValueError as error:
            raise Unheard(str(error)) from None
        return run, sink.url, sink.token
    url, token = local_server(data_dir(config))
    if not url:
        raise Unheard(
            "no server is known; start one with 'rl-insight server start' and set RL_INSIGHT_SERVER_URL to its address"
        )
    return run, url, config.server.token or token


def _said(content: bytes) -> str:
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return ""


def _try_later(key: str, asked: dict[str, Any]) -> None:
    global _retrying
    with _lock:
        _waiting[key] = asked
        if _retrying == os.getpid():
            return
        _retrying = os.getpid()
    threading.Thread(target=_retry, name="rl-insight-targets", daemon=True).start()


def _retry() -> None:
    global _retrying
    attempt = 0
    while True:
        with _lock:
            waiting = dict(_waiting)
            if not waiting or not recorder.active:
                _retrying = None
                return
        left = [key for key, asked in waiting.items() if not _tried(key, asked)]
        if not left:
            attempt = 0
            continue
        time.sleep(_RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)])
        attempt += 1


def _tried(key: str, asked: dict[str, Any]) -> bool:
    """Whether nothing is left to be done about it."""
    try:
        tell(asked)
    except Unheard as unheard:
        recorder.problem("targets_unheard", f"targets are not registered yet, and will be tried again: {unheard}")
        return False
    except Refused as refused:
        with _lock:
            _kept.pop(key, None)
        recorder.problem("bad_target", f"targets were not registered: {refused}")
    except Exception as error:  # a thread of ours must not end with a traceback in somebody's training
        recorder.failed(error)
    with _lock:
        if _waiting.get(key) is asked:
            del _waiting[key]
    return True
