"""Real parts for tests: a collector in its own process, and lines to send it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

TS = 1_700_000_000_000_000_000
WAIT_SECONDS = 120.0


class Answer(NamedTuple):
    """What the server said."""

    status: int
    body: Any
    headers: Mapping[str, str]


class Server:
    """A server process on a free port. `kill` is SIGKILL, `stop` is SIGTERM; `start` may be called again after."""

    def __init__(self, data_dir: Path, *options: str, settings: Mapping[str, Any] | None = None) -> None:
        self.data_dir = data_dir
        self.options = list(options)
        self.port = 0
        self.host = "127.0.0.1"
        self.token = ""
        self.environment: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None
        data_dir.mkdir(parents=True, exist_ok=True)
        if settings is not None:
            path = data_dir.parent / f"{data_dir.name}.yaml"
            path.write_text(json.dumps({"collector": dict(settings)}))  # JSON is YAML
            self.options += ["--config", str(path)]

    def start(self) -> Server:
        command = [sys.executable, "-m", "rl_insight.cli", "server", "start", "--data-dir", str(self.data_dir)]
        command += ["--port", str(self.port), *self.options]
        self.errors = (self.data_dir.parent / f"{self.data_dir.name}.stderr").open("ab")
        environment = clean_environment(**self.environment)
        self.process = subprocess.Popen(command, stdout=self.errors, stderr=self.errors, env=environment)
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended while starting: {self.output()}")
            found = self._address()
            if found and found["pid"] == self.process.pid:
                self.port = found["port"]
                self.url = found["url"]
                return self
            time.sleep(0.01)
        raise AssertionError(f"the server did not start: {self.output()}")

    def _address(self) -> dict[str, Any] | None:
        try:
            return json.loads((self.data_dir / "server.json").read_text())  # type: ignore[no-any-return]
        except (OSError, ValueError):
            return None

    def output(self) -> str:
        return (self.data_dir.parent / f"{self.data_dir.name}.stderr").read_text(errors="replace")

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.errors.close()

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=WAIT_SECONDS)
        self.errors.close()
        return code

    def connect(self, timeout: float = 30.0) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        connection: http.client.HTTPConnection | None = None,
    ) -> Answer:
        used = connection or self.connect()
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            used.request(method, path, body=body, headers={**sent, **(headers or {})})
            response = used.getresponse()
            raw = response.read()
            return Answer(response.status, json.loads(raw) if raw else None, dict(response.getheaders()))
        finally:
            if connection is None:
                used.close()

    def post(self, body: bytes, headers: Mapping[str, str] | None = None, **more: Any) -> Answer:
        return self.request("POST", "/v1/lines", body, headers, **more)

    def query(self, sql: str, params: list[Any] | None = None) -> list[list[Any]]:
        body = json.dumps({"sql": sql, "params": params}).encode()
        answer = self.request("POST", "/api/v1/query", body)
        assert answer.status == 200, answer.body
        return answer.body["rows"]  # type: ignore[no-any-return]

    def wait_stored(self) -> None:
        """Return once everything acknowledged so far can be queried."""
        wait_until(lambda: self.request("GET", "/api/v1/status").body["store"]["lag_bytes"] == 0)


def wait_until(true: Any, seconds: float = WAIT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


@contextmanager
def running_server(data_dir: Path, *options: str, settings: Mapping[str, Any] | None = None) -> Iterator[Server]:
    """A server for the length of a `with` block."""
    server = Server(data_dir, *options, settings=settings)
    try:
        yield server.start()
    finally:
        if server.alive():
            server.kill()


def clean_environment(**more: str) -> dict[str, str]:
    """This environment without settings of ours, so that a developer's own do not change a test."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RL_INSIGHT_", "OTEL_"))}
    return {**kept, "PYTHONUNBUFFERED": "1", "COLUMNS": "200", "NO_COLOR": "1", **more}


def command(*arguments: str, timeout: float = 120.0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `rl-insight` with arguments, and return what it said and its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "rl_insight.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=clean_environment(**environment),
        check=False,
    )


def encode(*lines: Mapping[str, Any]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def process_line(proc: str, seq: int = 1, run: str = "run-1", ts: int = TS, **more: Any) -> dict[str, Any]:
    return {"kind": "process", "proc": proc, "seq": seq, "ts": ts, "name": proc, "run": run, "schema": "1.0", **more}


def gauge_line(proc: str, seq: int, name: str = "loss", ts: int = TS, **more: Any) -> dict[str, Any]:
    return {"kind": "gauge", "proc": proc, "seq": seq, "ts": ts + seq, "name": name, "value": float(seq), **more}


def batch(proc: str, first: int, count: int, run: str = "run-1") -> bytes:
    """`count` lines of one process from `first` on; seq 1 is its process line."""
    lines = [gauge_line(proc, seq) for seq in range(first, first + count)]
    if first == 1:
        lines[0] = process_line(proc, run=run)
    return encode(*lines)
