"""A real Prometheus for tests: on a free port, with a config of the test's own, reloaded and asked over HTTP."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

WAIT_SECONDS = 120.0


class Prometheus:
    """A Prometheus process. `config` is what its YAML file says (JSON is YAML); `lifecycle` allows reload over HTTP."""

    def __init__(self, folder: Path, config: Mapping[str, Any] | None = None, *, lifecycle: bool = True) -> None:
        self.folder = folder
        self.lifecycle = lifecycle
        self.config_file = folder / "prometheus.yml"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        if config is not None or not self.config_file.exists():
            self.write(config or {})

    def write(self, config: Mapping[str, Any]) -> None:
        """Put a config in place; `reload` or `start` makes it count."""
        self.config_file.write_text(json.dumps({"global": {"scrape_interval": "200ms"}, **config}))

    def start(self) -> Prometheus:
        options = [
            f"--config.file={self.config_file}",
            f"--storage.tsdb.path={self.folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            *(["--web.enable-lifecycle"] if self.lifecycle else []),
        ]
        with (self.folder / "prometheus.log").open("ab") as said:
            self.process = subprocess.Popen([binary(), *options], stdout=said, stderr=said, cwd=self.folder)
        wait_for(self._ready, "Prometheus to start", self.output)
        return self

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()  # what it holds is the test's, and goes with the test's folder
            self.process.wait()
            self.process = None

    def output(self) -> str:
        return (self.folder / "prometheus.log").read_text(errors="replace")[-4000:]

    def request(self, method: str, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def reload(self) -> None:
        status, said = self.request("POST", "/-/reload")
        assert status == 200, said

    def api(self, path: str, **asked: str) -> Any:
        """The `data` of an answer of `/api/v1/…`."""
        query = f"?{urllib.parse.urlencode(asked)}" if asked else ""
        status, said = self.request("GET", f"/api/v1/{path}{query}")
        assert status == 200, said
        return json.loads(said)["data"]

    def query(self, promql: str) -> list[dict[str, Any]]:
        """The series an expression has now: `[{"metric": {...}, "value": [time, text]}, …]`."""
        found: list[dict[str, Any]] = self.api("query", query=promql)["result"]
        return found

    def wait_query(self, promql: str, seconds: float = WAIT_SECONDS) -> list[dict[str, Any]]:
        """As `query`, once there is something."""
        wait_for(lambda: self.query(promql), f"series for {promql}", self.output, seconds)
        return self.query(promql)

    def targets(self) -> list[dict[str, Any]]:
        """What it scrapes: `labels`, `health` (up, down, unknown), `lastError`, `scrapeUrl`, …"""
        found: list[dict[str, Any]] = self.api("targets", state="active")["activeTargets"]
        return found

    def _ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"Prometheus ended while starting: {self.output()}"
        try:
            return self.request("GET", "/-/ready")[0] == 200
        except OSError:
            return False


@contextmanager
def running_prometheus(
    folder: Path, config: Mapping[str, Any] | None = None, *, lifecycle: bool = True
) -> Iterator[Prometheus]:
    """A Prometheus for the length of a `with` block; the test is skipped, loudly, where there is none."""
    binary()
    server = Prometheus(folder, config, lifecycle=lifecycle)
    try:
        yield server.start()
    finally:
        server.stop()


@cache
def binary() -> str:
    """The path of a Prometheus: `$PROMETHEUS`, the one installed, or Debian's, installed now when root; else a skip."""
    found = os.environ.get("PROMETHEUS") or shutil.which("prometheus") or _install()
    if not found:
        pytest.skip(
            "PROMETHEUS IS NOT TESTED, because it is not here: apt-get install prometheus, or set PROMETHEUS to it"
        )
    return found


def _install() -> str | None:
    apt = shutil.which("apt-get")
    if not apt or os.geteuid() != 0:
        return None
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Test processes that run side by side must not both hold dpkg's lock.
    with (Path(tempfile.gettempdir()) / "rl-insight-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shutil.which("prometheus"):
            wanted = ["install", "--yes", "--no-install-recommends", "prometheus"]
            for command in (["update"], wanted):
                subprocess.run([apt, "-qq", *command], env=environment, capture_output=True, timeout=240, check=False)
    return shutil.which("prometheus")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(true: Any, what: str, said: Any = str, seconds: float = WAIT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited too long for {what}: {said()}"
        time.sleep(0.05)
