"""A collector in a process of its own, with what it uses."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil

from bench.child import ROOT, environment

START_SECONDS = 30.0


class Collector:
    """`rl-insight server start` on a free port and a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self._output = (folder.parent / f"{folder.name}.output").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rl_insight.cli", "server", "start", "--data-dir", str(folder), "--port", "0"],
            cwd=ROOT,
            env=environment(),
            stdout=self._output,
            stderr=self._output,
        )
        self.pid = self._process.pid
        self._about = psutil.Process(self.pid)
        self._wait_until_ready()
        self._cpu_at_start = self.cpu()

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.returncode is None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def cpu(self) -> float:
        """Seconds of CPU so far, of all its threads."""
        times = self._about.cpu_times()
        return float(times.user + times.system)

    def rss(self) -> int:
        """Bytes of memory it holds."""
        return int(self._about.memory_info().rss)

    def status(self) -> Any:
        """What it says of itself."""
        return self._ask("/api/v1/status", None)

    def count(self, tables: list[str]) -> dict[str, int]:
        """How many rows a query finds in each table."""
        sql = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in tables)
        rows = self._ask("/api/v1/query", json.dumps({"sql": sql}).encode())["rows"]
        return dict(zip(tables, rows[0], strict=True))

    def stop(self) -> float:
        """Stop it in order, with its last projection and checkpoint; returns the CPU it used since it was ready."""
        os.kill(self.pid, signal.SIGTERM)
        _, code, usage = os.wait4(self.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(code)
        return usage.ru_utime + usage.ru_stime - self._cpu_at_start

    def _ask(self, path: str, body: bytes | None) -> Any:
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data=body), timeout=60) as response:
            return json.load(response)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                found = json.loads((self.folder / "server.json").read_bytes())
            except (OSError, ValueError):
                time.sleep(0.02)
                continue
            if found["pid"] == self.pid:
                self.url = found["url"]
                return
        self._process.kill()
        raise RuntimeError(f"the server did not start: {Path(self._output.name).read_text()[-500:]}")


class Memory:
    """The memory of some processes, looked at again and again while a `with` block runs."""

    def __init__(self, every: float, **pids: int) -> None:
        self.seen: dict[str, list[tuple[float, int]]] = {name: [] for name in pids}
        self._every = every
        self._processes = {name: psutil.Process(pid) for name, pid in pids.items()}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def at(self, name: str, share: float) -> float:
        """MiB a process held after this share of the time it was seen."""
        seen = self.seen[name]
        return seen[min(int(share * len(seen)), len(seen) - 1)][1] / 2**20

    def most(self, name: str) -> float:
        """The most MiB a process was seen to hold."""
        return max(size for _, size in self.seen[name]) / 2**20

    def _look(self) -> None:
        start = time.monotonic()
        while True:
            for name, process in self._processes.items():
                with contextlib.suppress(psutil.Error):  # it has ended
                    size = process.memory_info().rss
                    if size:  # one that has ended and has not been waited for holds nothing
                        self.seen[name].append((time.monotonic() - start, size))
            if self._stop.wait(self._every):
                return
