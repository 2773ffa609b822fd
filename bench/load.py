"""Producers and a collector at work: started together, and over when a query sees every row."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil

from bench.child import ROOT, environment
from bench.server import Collector, Memory
from bench.work.workload import ROWS

STORED_SECONDS = 300.0


class Load(msgspec.Struct):
    """What a load took. CPU in seconds, memory in MiB."""

    events: int
    seconds: float
    producer_cpu: float
    collector_cpu: float
    log_bytes: int
    others: float
    memory: dict[str, list[float]]
    series: dict[str, list[tuple[float, int]]] = {}


class Producer:
    """A process that records, and waits for the word to begin."""

    def __init__(self, kind: str, events: int, where: str, spool: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.work.producer", kind, str(events), where],
            cwd=ROOT,
            env=environment(RL_INSIGHT_SPOOL_DIR=str(spool)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError(f"a producer ended with {self._process.wait()} before it began")

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def result(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said:
            raise RuntimeError(f"a producer ended with {self._process.wait()} and told nothing")
        result: dict[str, Any] = json.loads(said)
        if result["lost"] or result["problems"] or result["spooled"] or not result["delivered"]:
            raise RuntimeError(f"the producer did not deliver everything, so the figure would be wrong: {result}")
        return result

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def to_collector(kind: str, events: int, producers: int, look_every: float = 0.25) -> Load:
    """Record `events` events in all from some producers, and wait until a query finds exactly their rows."""
    with tempfile.TemporaryDirectory(prefix="rl-insight-bench-") as folder:
        home = Path(folder)
        with Collector(home / "data") as collector:
            started = [Producer(kind, events // producers, collector.url, home / "spool") for _ in range(producers)]
            try:
                for producer in started:
                    producer.wait_until_ready()
                pids = {f"producer {number}": one.pid for number, one in enumerate(started, 1)}
                machine, used = _machine_cpu(), collector.cpu()
                with Memory(look_every, collector=collector.pid, **pids) as memory:
                    for producer in started:
                        producer.begin()
                    results = [producer.result() for producer in started]
                    _wait_for_rows(collector, kind, events)
                    end = time.monotonic_ns()
                machine = _machine_cpu() - machine
                used = sum(result["cpu"] for result in results) + collector.cpu() - used
                log_bytes = collector.status()["collector"]["log_bytes"]
                begin = min(result["start"] for result in results)
                seconds = (end - begin) / 1e9
                return Load(
                    events=events,
                    seconds=seconds,
                    producer_cpu=sum(result["cpu"] for result in results),
                    collector_cpu=collector.stop(),
                    log_bytes=log_bytes,
                    others=max(0.0, machine - used) / seconds,
                    memory={
                        name: [*(memory.at(name, share) for share in (0, 0.5, 1)), memory.most(name)]
                        for name in memory.seen
                    },
                    series=memory.seen,
                )
            finally:
                for producer in started:
                    producer.end()


def to_files(kind: str, events: int) -> float:
    """CPU seconds to record `events` events into a file."""
    with tempfile.TemporaryDirectory(prefix="rl-insight-bench-") as folder:
        producer = Producer(kind, events, str(Path(folder) / "lines"), Path(folder) / "spool")
        try:
            producer.wait_until_ready()
            producer.begin()
            cpu: float = producer.result()["cpu"]
        finally:
            producer.end()
        written = sum(file.read_bytes().count(b"\n") for file in Path(folder).glob("lines/*.jsonl"))
        if written < events:
            raise RuntimeError(f"{written} lines were written, not {events}")
        return cpu


def _wait_for_rows(collector: Collector, kind: str, events: int) -> None:
    wanted = {table: round(share * events) for table, share in ROWS[kind].items()}
    deadline = time.monotonic() + STORED_SECONDS
    while (found := collector.count(list(wanted))) != wanted:
        if time.monotonic() > deadline or any(found[table] > wanted[table] for table in wanted):
            raise RuntimeError(f"the store has {found}, and should have {wanted}")
        time.sleep(0.02)


def _machine_cpu() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - getattr(times, "guest", 0))
