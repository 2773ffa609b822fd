"""How a process of a Ray job comes to its run: it joins the one that the job was told of, or leads one."""

from __future__ import annotations

import functools
import importlib.util
import ipaddress
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from rl_insight.adapters.ray_actors import actor_in
from rl_insight.adapters.ray_keeper import JobKeeper, revive, settings_of_actor
from rl_insight.config import Config, ConfigError, adopt, data_dir, home, inherited
from rl_insight.record.identity import new_proc, new_run
from rl_insight.record.recorder import recorder
from rl_insight.serve import address
from rl_insight.ship import lifecycle
from rl_insight.ship.choose import folder_name, local_server
from rl_insight.ship.ray import Notice, Place, actor_url, is_actor_url, place, put_notice, read_notice
from rl_insight.ship.shipment import Course

# What the collector needs beyond the recorder; `pip install "rl-insight[server]"` brings it.
_SERVER_PACKAGES = ("duckdb", "starlette", "uvicorn")
# Training processes leave sampling to the node's sampler, and take over when there is none.
_SAMPLER_FIRST = 30.0

Hook = Callable[[str, Any], Any] | None


def enter(config: Config, hook: Hook = None, *, knows: bool = False, own_run: bool = False) -> None:
    """Begin to record in a process of a Ray job. Waits little, and raises for wrong settings only.

    `knows` says that the caller named project, experiment or settings: such a process may lead a run at once, as the
    driver may. `own_run` says that it named the run, which is then not the job's.
    """
    try:
        entry = Entry(config, place(), knows, own_run)
        course = entry.decide_now()
    except ConfigError:
        raise
    except Exception as error:  # Ray is in a state that we do not know: record as outside of it
        recorder.warn(f"rl-insight: Ray is not used: {type(error).__name__}: {error}")
        lifecycle.start(config, hook)
        return
    if course is None:
        lifecycle.wait(config, hook, entry.decide)
    else:
        lifecycle.start(course.config, hook, course)


class Entry:
    """One process on its way into the run of its job."""

    def __init__(self, config: Config, here: Place, knows: bool, own_run: bool) -> None:
        self._config = config
        self._here = here
        self._leads = knows or not here.worker
        self._own_run = own_run
        self._give_up_at = time.monotonic() + config.ray.wait
        config.node = config.node or f"{socket.gethostname()}-{here.node[:8]}"
        config.role = config.role or here.actor_class or None
        config.aliases = {**here.aliases(), **config.aliases}

    def decide_now(self) -> Course | None:
        """Join or lead at once, if that can be; None: ask again later."""
        if not self._config.ray.enabled or self._config.server.backend != "ray" or self._config.ship.sink == "memory":
            return Course(self._config)
        notice = read_notice(self._here.job)
        if notice is not None and notice.ready:
            return self._follow(notice)
        return self._lead(notice) if notice is None and self._leads else None

    def decide(self, last: bool) -> Course | None:
        """Join once somebody leads. When nobody does for a while, lead; when the process ends, record to files."""
        deadline = time.monotonic() + (self._config.ship.close_timeout if last else 0.0)
        while True:
            notice = read_notice(self._here.job, 1.0)
            if notice is not None and notice.ready:
                return self._follow(notice)
            if not last and time.monotonic() >= self._give_up_at:
                return self._lead(notice)
            if time.monotonic() >= deadline:
                break
            time.sleep(0.05)
        if not last:
            return None
        self._take_run(notice)
        self._config.ship.sink = "file"
        return Course(self._config)

    def _follow(self, notice: Notice) -> Course:
        config, here = self._config, self._here
        adopt(config, notice.told)
        self._take_run(notice)
        if config.ship.sink in ("auto", "http") and not config.server.url and not config.ship.dir:
            config.server.url, config.server.token = notice.url, notice.token
            if notice.relay and notice.node != here.node:
                config.server.url, config.server.token = notice.relay, ""
            if not notice.url:
                config.ship.sink, config.ship.dir = "file", notice.folder
        return self._course(notice)

    def _take_run(self, notice: Notice | None) -> None:
        config = self._config
        if notice is not None:
            config.run = config.run if self._own_run else notice.run
            config.project = config.project or notice.project
            config.experiment = config.experiment or notice.experiment
        config.run = config.run or new_run(config)

    def _course(self, notice: Notice, keeper: JobKeeper | None = None) -> Course:
        config = self._config
        told = {"RL_INSIGHT_NODE": config.node or ""}
        if is_actor_url(config.server.url) and notice.page and notice.node == self._here.node:
            told |= {"RL_INSIGHT_SERVER_URL": notice.page, "RL_INSIGHT_TOKEN": notice.page_token}
        if config.ray.samplers and config.role != "sampler":
            config.resources.delay = max(config.resources.delay, _SAMPLER_FIRST)
        if is_actor_url(config.server.url) and not self._here.worker:
            _deliver_before_shutdown(config, keeper)
        if config.ray.trace_calls:
            from rl_insight.adapters.ray import install

            install()
        on_missing = functools.partial(revive, notice, self._here) if notice.collector else None
        return Course(config, told, keeper, on_missing)

    def _lead(self, begun: Notice | None) -> Course | None:
        """Say which run the job has, and see to its collector; None when somebody else was faster and is at it.

        `begun` is by a leader that was not heard of again. Its run is led on, so that two who do so do the same.
        """
        config, here = self._config, self._here
        own = config.run
        self._take_run(begun)
        assert config.run is not None
        notice = Notice(config.run, False, config.project, config.experiment, inherited(config), leader=new_proc())
        if not put_notice(here.job, notice, replace=begun is not None):
            other = read_notice(here.job)
            if other is not None:
                config.run = own
                return self._follow(other) if other.ready else None
        config.aliases = {**config.aliases, "ray_leads": "yes"}
        keeper = JobKeeper(config, here, notice)
        self._find_collector(notice, keeper)
        notice.ready = True
        put_notice(here.job, notice, replace=True)
        return self._course(notice, keeper)

    def _find_collector(self, notice: Notice, keeper: JobKeeper) -> None:
        """The server that was named, the one on this machine, files that were asked for, or an actor of our own."""
        config, here = self._config, self._here
        url, token = config.server.url, config.server.token
        if not url and config.ship.sink in ("auto", "http") and not config.ship.dir:
            url, found = _server_of_this_machine(data_dir(config))
            token = token or found
        if url and config.ship.sink in ("auto", "http"):
            config.server.url, config.server.token = notice.url, notice.token = url, token
            notice.node = here.node
            if not is_actor_url(url) and _is_loopback(url):
                notice.relay = actor_url(config.server.namespace, f"rl_insight_relay_{notice.run}")
            return
        if config.ship.sink == "auto" and not config.ship.dir and config.ray.collector:
            missing = [name for name in _SERVER_PACKAGES if importlib.util.find_spec(name) is None]
            if not missing and self._start_collector(notice, keeper):
                return
            if missing:
                _say(
                    f"{missing[0]} is not installed here, so no collector is started: pip install 'rl-insight[server]'"
                )
        config.ship.sink = "file"
        folder = Path(config.ship.dir).expanduser() if config.ship.dir else home() / "runs" / folder_name(notice.run)
        config.ship.dir = notice.folder = str(folder.absolute())
        _say(f"run {notice.run} is recorded to files in {notice.folder}, on each node")

    def _start_collector(self, notice: Notice, keeper: JobKeeper) -> bool:
        config, here = self._config, self._here
        shared = config.ray.detached
        name = "rl_insight_collector" if shared else f"rl_insight_collector_{notice.run}"
        folder = home() / "ray" / folder_name(config.server.namespace if shared else notice.run)
        if config.collector.data_dir:
            folder = data_dir(config)
        told = settings_of_actor(config, here, name, str(folder.absolute()))
        if not keeper.start_collector(told):
            return False
        notice.url = config.server.url = actor_url(config.server.namespace, name)
        notice.collector = msgspec.json.encode(told).decode()
        notice.node = here.node
        return True


def _deliver_before_shutdown(config: Config, keeper: JobKeeper | None) -> None:
    """Have `ray.shutdown()` deliver what is left first: afterwards nobody takes it. What comes later goes to files."""
    import ray

    shutdown = ray.shutdown
    afterwards = msgspec.structs.replace(
        config,
        node=None,
        aliases={},
        server=msgspec.structs.replace(config.server, url="", token=""),
        ship=msgspec.structs.replace(config.ship, sink="file"),
    )

    @functools.wraps(shutdown)
    def deliver_first(*args: Any, **kwargs: Any) -> None:
        ray.shutdown = shutdown
        if keeper is not None:
            keeper.job_ends = True
        lifecycle.rest(afterwards)
        shutdown(*args, **kwargs)

    ray.shutdown = deliver_first


def _server_of_this_machine(folder: Path) -> tuple[str, str]:
    """As `local_server`, without the collector actors of other jobs: these end with their jobs."""
    found = address.read(folder)
    return ("", "") if found is not None and found.pid == actor_in(folder) else local_server(folder)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url if "://" in url else f"http://{url}").hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _say(message: str) -> None:
    if not os.environ.get("RL_INSIGHT_QUIET"):
        print(f"rl-insight: {message}", file=sys.stderr)
