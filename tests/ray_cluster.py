"""A real Ray of several nodes on this machine, in a process of its own, and drivers of jobs on it.

Run as a script it is that process: it starts the nodes and does what it reads, a line each, from standard input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recorded import wait_until
from rl_insight.serve.address import is_locked
from rl_insight.serve.service import offline

# What every driver here begins with. A short heartbeat: the collector ends that much after its job.
PRELUDE = """
import json, os, signal, sys, time
import ray
import rl_insight as insight

def begin(**config):
    ray.init(address=os.environ["CLUSTER"], namespace="a-users-own", log_to_driver=False)
    insight.init(project="math", experiment_name="grpo", zone="b",
                 config={"ship": {"heartbeat": 1}, "resources": {"interval": 0.2}, **config})

def nodes():
    return sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])

def on(node):
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
    return NodeAffinitySchedulingStrategy(node, soft=False)

def collector():
    return ray.get_actor("rl_insight_collector_" + insight.status().run, namespace="rl_insight_monitor")

def query(sql, actor=None):
    import urllib.request
    url = ray.get((actor or collector()).where.remote())["url"]
    with urllib.request.urlopen(url + "/api/v1/query", json.dumps({"sql": sql}).encode()) as answer:
        return json.load(answer)["rows"]

def wait(true, seconds=180):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
"""


class RayCluster:
    """Nodes that can be added and removed."""

    def __init__(self, home: Path, nodes: int) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=home,
            env=self.environment(),
        )
        self.address = self._answer()

    def add_node(self) -> str:
        """Start another node, and return its id."""
        return self._do("add")

    def remove_node(self, node: str) -> None:
        """Kill a node with all that runs on it."""
        self._do(f"remove {node}")

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def environment(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("RL_INSIGHT_", "RAY_", "OTEL_"))}
        quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_DEDUP_LOGS": "0"}
        return {**kept, **quiet, "HOME": str(self.home), **more}

    def start_driver(self, code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a job: a script that has the prelude's names."""
        return subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(code), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.home,
            env=self.environment(CLUSTER=self.address, **environment),
        )

    def drive(self, code: str, *arguments: str, **environment: str) -> Job:
        """Run a job to its end; the last thing it prints is JSON."""
        return finish(self.start_driver(code, *arguments, **environment))

    def _do(self, what: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("> "):  # Ray says this and that besides
                return line[2:].strip()
        raise AssertionError("the cluster has ended")


class Job:
    """What a job said, and the data folder that its collector left."""

    def __init__(self, said: str, errors: str) -> None:
        self.errors = errors
        lines = [line for line in said.splitlines() if line.startswith(("{", "["))]
        self.said: Any = json.loads(lines[-1]) if lines else None

    @property
    def folder(self) -> Path:
        words = self.errors.split("it is kept in ")
        assert len(words) > 1, self.errors
        return Path(words[-1].split(";")[0])

    @contextmanager
    def stored(self) -> Iterator[Any]:
        """The store of the collector actor, once that has ended."""
        wait_until(lambda: not is_locked(self.folder), "the collector to end", 180)
        with offline(self.folder) as service:
            yield service.store

    def rows(self, sql: str) -> list[Any]:
        with self.stored() as store:
            return [tuple(row) for row in store.rows(sql).rows]


def wait_for(driver: subprocess.Popen[str], word: str) -> None:
    """Read what a driver prints until it says a word. Ray says this and that in between."""
    assert driver.stdout is not None
    while (line := driver.stdout.readline()) != f"{word}\n":
        assert line, f"the driver has ended: {driver.communicate()[1]}"


def tell(driver: subprocess.Popen[str], word: str) -> None:
    """Give a driver a line to read."""
    assert driver.stdin is not None
    print(word, file=driver.stdin, flush=True)


def finish(driver: subprocess.Popen[str], timeout: float = 240) -> Job:
    """Wait for a driver to end as it should."""
    said, errors = driver.communicate(timeout=timeout)
    assert driver.returncode == 0, errors
    return Job(said, errors)


def main() -> None:
    from ray.cluster_utils import Cluster

    def node(**more: Any) -> Any:
        return cluster.add_node(num_cpus=2, object_store_memory=100 * 2**20, **more)

    # A killed node is found dead after five refused connections; a second apart, not three.
    head = {"num_cpus": 2, "include_dashboard": False, "_system_config": {"health_check_period_ms": 1000}}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    added = {made.node_id: made for made in [node() for _ in range(int(sys.argv[1]) - 1)]}
    print(f"> {cluster.address}", flush=True)
    for line in sys.stdin:
        what, *which = line.split()
        if what == "add":
            made = node()
            added[made.node_id] = made
            print(f"> {made.node_id}", flush=True)
        else:
            cluster.remove_node(added.pop(which[0]), allow_graceful=False)
            cluster.wait_for_nodes(60)
            print("> removed", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
