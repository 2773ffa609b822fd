"""What the process that leads a job's run looks after: the collector actor, the relay, a sampler on each node."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Any

import msgspec

from rl_insight.adapters.ray_actors import Collector, Post, Relay, Sampler, Told
from rl_insight.config import Config
from rl_insight.record.recorder import recorder
from rl_insight.ship import lifecycle
from rl_insight.ship.ray import Notice, Place, bounded, parse_actor_url, put_notice, take_down_notice

_LOOK_SECONDS = 5.0
_CALLS_AT_ONCE = 1000
_GOODBYE_SECONDS = 2.0


def settings_of_actor(config: Config, here: Place, name: str, folder: str) -> Told:
    """What a collector actor is to be told."""
    return Told(
        post=Post(name, config.server.namespace, here.job, config.ship.heartbeat),
        folder=folder,
        port=config.prometheus.metrics_report_port,
        detached=config.ray.detached,
        settings=config.collector,
        # Where traces are exported to is often said in the driver's environment alone.
        environment={key: value for key, value in os.environ.items() if key.startswith("OTEL_")},
    )


def start_actor(told: Told, node: str) -> Any:
    """The collector actor, started on a node unless it is there already."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return (
        ray.remote(Collector)
        .options(
            name=told.post.name,
            namespace=told.post.namespace,
            get_if_exists=True,
            # Of the job, and yet not owned by its driver: it ends itself when the last lines are in.
            lifetime="detached",
            num_cpus=0,
            max_restarts=-1,
            # The sender repeats calls itself; Ray's own repetition would keep every failed one in memory.
            max_task_retries=0,
            max_concurrency=_CALLS_AT_ONCE,
            # Its folder is there. A soft affinity is only a wish: Ray puts such actors elsewhere at times.
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        )
        .remote(msgspec.json.encode(told))
    )


def revive(notice: Notice, here: Place) -> None:
    """Start a collector again that is gone for good, as with its node: here, with an empty folder."""
    start_actor(msgspec.json.decode(notice.collector, type=Told), here.node)
    notice.node, notice.page, notice.page_token = here.node, "", ""
    put_notice(here.job, notice, replace=True)


class JobKeeper:
    """Runs in the leading process while that records. Whatever it cannot do is tried again at its next look."""

    def __init__(self, config: Config, here: Place, notice: Notice) -> None:
        self.job_ends = False  # with this process, which is about to leave
        self._config = config
        self._here = here
        self._notice = notice
        self._told: Told | None = None
        self._collector: Any = None
        self._where: dict[str, Any] | None = None
        self._relay: Any = None
        self._samplers: dict[str, Any] = {}  # by node
        self._up: dict[str, Any] = {}  # what is there once the sampler of a node is
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rl-insight-keeper", daemon=True)

    def start_collector(self, told: Told) -> bool:
        """Start the collector actor and wait a while for it; False when it cannot be had."""
        import ray

        self._told = told
        try:
            self._collector = start_actor(self._told, self._here.node)
            answer = self._collector.where.remote()
            self._note(ray.get(answer, timeout=self._config.ray.start_timeout))
        except ray.exceptions.GetTimeoutError:
            recorder.warn(f"rl-insight: the collector actor {told.post.name} is not up yet; lines are kept until it is")
        except Exception as error:
            self._told = None
            recorder.warn(f"rl-insight: no collector actor: {str(error).strip().splitlines()[-1]}")
            return False
        return True

    def start(self) -> None:
        """Begin to look after things."""
        self._thread.start()

    def before_stop(self, timeout: float) -> None:
        """Let the samplers say goodbye, and the others flush: once the driver is gone, Ray kills them at once."""
        self._stop.set()
        import ray

        flushed_at = time.monotonic() + min(timeout, 2 * self._config.ship.flush_interval)
        if self._samplers and ray.is_initialized():
            with contextlib.suppress(Exception):
                up = {ref for ref in self._up.values() if ray.wait([ref], timeout=0)[0]}
                leaving = [
                    sampler.close.remote(_GOODBYE_SECONDS / 2)
                    for node, sampler in self._samplers.items()
                    if self._up[node] in up
                ]
                if leaving:
                    ray.wait(leaving, num_returns=len(leaving), timeout=min(timeout, _GOODBYE_SECONDS))
                for sampler in self._samplers.values():
                    ray.kill(sampler)
        time.sleep(max(0.0, flushed_at - time.monotonic()))

    def after_stop(self, timeout: float) -> None:
        """Have the collector store everything; a job that goes on may have another run after this."""
        import ray

        if not ray.is_initialized():
            return
        if self._collector is not None:
            with contextlib.suppress(Exception):
                ends = (self.job_ends or lifecycle.exiting()) and self._owns_the_cluster()
                last = self._collector.close if ends else self._collector.settle
                ray.get(last.remote(), timeout=max(timeout, 1.0))
        take_down_notice(self._here.job, self._notice.leader, 1.0)

    def _owns_the_cluster(self) -> bool:
        """Whether Ray ends with this process, and the actor with it."""
        from ray._private import worker

        node = getattr(worker, "_global_node", None)
        return not self._here.worker and node is not None and bool(node.head)

    def _run(self) -> None:
        while True:
            try:
                self._look()
            except Exception as error:
                recorder.problem("ray", f"Ray does not do as it is told: {type(error).__name__}: {error}")
            if self._stop.wait(_LOOK_SECONDS):
                return

    def _look(self) -> None:
        import ray

        if not ray.is_initialized():
            return
        if self._told is not None:
            with contextlib.suppress(ray.exceptions.RayError):  # it is being restarted: next time
                self._look_after_collector()
        nodes = bounded(lambda: {node["NodeID"] for node in ray.nodes() if node["Alive"]}, _LOOK_SECONDS)  # type: ignore[no-untyped-call]
        if nodes is None:
            return
        if self._notice.relay and self._relay is None and nodes - {self._notice.node}:
            self._relay = self._make_relay()
        if self._config.ray.samplers and self._config.resources.enabled:
            for node in nodes - self._samplers.keys():
                self._samplers[node] = self._make_sampler(node)
                self._up[node] = self._samplers[node].deliver.remote(0.0)
        for node in self._samplers.keys() - nodes:  # removed; should it come back, it has another name
            del self._samplers[node], self._up[node]

    def _look_after_collector(self) -> None:
        """Tell of it when it has come up late or elsewhere; start it again if somebody has ended it for good."""
        import ray

        assert self._told is not None
        try:
            ray.get_actor(self._told.post.name, namespace=self._told.post.namespace)
        except ValueError:
            self._collector = start_actor(self._told, self._here.node)
        where = ray.get(self._collector.where.remote(), timeout=_LOOK_SECONDS)
        if self._where is None or where["url"] != self._where["url"] or where["node"] != self._where["node"]:
            self._note(where)
            put_notice(self._here.job, self._notice, replace=True)

    def _note(self, where: dict[str, Any]) -> None:
        self._where = where
        self._notice.node = where["node"]
        self._notice.page, self._notice.page_token = where["url"], where["token"]
        if os.environ.get("RL_INSIGHT_QUIET"):
            return
        link = f"{where['url']}/?token={where['token']}" if where["token"] else where["url"]
        print(
            f"rl-insight: run {self._notice.run} is at {link} on {where['host']}\n"
            f"rl-insight: it is kept in {where['folder']}; look at it afterwards with: "
            f"rl-insight server start --data-dir {where['folder']}",
            file=sys.stderr,
        )

    def _make_relay(self) -> Any:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        namespace, name = parse_actor_url(self._notice.relay)
        post = Post(name, namespace, self._here.job, self._config.ship.heartbeat)
        return (
            ray.remote(Relay)
            .options(
                name=name,
                namespace=namespace,
                get_if_exists=True,
                lifetime="detached",
                num_cpus=0,
                max_restarts=-1,
                max_concurrency=16,
                scheduling_strategy=NodeAffinitySchedulingStrategy(self._notice.node, soft=False),
            )
            .remote(self._notice.url, self._notice.token, self._config.ship.timeout, msgspec.json.encode(post))
        )

    def _make_sampler(self, node: str) -> Any:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return (
            ray.remote(Sampler)
            .options(
                num_cpus=0,
                max_restarts=-1,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            )
            .remote()
        )
