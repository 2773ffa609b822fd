"""The resource sampler: one process of a run on a node tells, and another takes over when it is gone."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

import rl_insight as insight
from recorded import Line, lines_in, named, start_python, wait_until
from rl_insight.record.resources import Gpus, Probe, tell
from rl_insight.testing import Lines, recording

FAST = {"enabled": True, "interval": 0.05}

SAMPLE = """
import sys, time
import rl_insight as insight
config = {"resources": {"enabled": True, "interval": 0.05}, "ship": {"flush_interval": 0.02}}
insight.init(run=sys.argv[1], config=config)
time.sleep(60)
"""


def sampled(folder: Path) -> set[str]:
    """The processes that told of resources."""
    return {line["proc"] for line in named(lines_in(folder), "resource.sampled")}


def started(folder: Path) -> dict[int, Line]:
    return {line["pid"]: line for line in named(lines_in(folder), "process")}


def start(folder: Path, home: Path, run: str = "r1") -> subprocess.Popen[str]:
    return start_python(SAMPLE, home, run, RL_INSIGHT_DIR=str(folder), RL_INSIGHT_RESOURCES="")


def test_gauges_and_a_fact_of_all_of_them() -> None:
    with recording(node="n1", resources=FAST) as lines:
        wait_until(lambda: len(lines("fact")) >= 2, "two samples")
        fact, gauges = lines("fact")[0], {line["name"]: line for line in lines("gauge")}
    assert (fact["name"], fact["tags"]) == ("resource.sampled", {"node": "n1"})
    for name in (
        "node_cpu_ratio",
        "node_memory_used_bytes",
        "node_memory_total_bytes",
        "node_disk_free_bytes",
        "node_network_sent_bytes_total",
        "node_process_memory_bytes",
    ):
        assert name in fact["attrs"]
        assert gauges[name]["labels"] == {"node": "n1"}
    assert 0 < fact["attrs"]["node_memory_used_bytes"] <= fact["attrs"]["node_memory_total_bytes"]
    assert 0 <= fact["attrs"]["node_cpu_ratio"] <= 1


def test_opted_out_nothing_is_sampled() -> None:
    with recording(resources={"enabled": False, "interval": 0.01}) as lines:
        for _ in range(20):
            lines()
        assert lines("gauge") == []


def test_one_of_two_processes_samples_and_the_other_takes_over(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "lines"
    processes = [start(folder, home)]
    try:
        wait_until(lambda: sampled(folder), "the first sampler")
        processes.append(start(folder, home))
        wait_until(lambda: len(started(folder)) == 2, "the second process")
        first = sampled(folder)
        before = len(named(lines_in(folder), "resource.sampled"))
        wait_until(lambda: len(named(lines_in(folder), "resource.sampled")) > before + 3, "more samples")
        assert sampled(folder) == first
        processes[0].send_signal(signal.SIGKILL)
        wait_until(lambda: len(sampled(folder)) == 2, "the second sampler")
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_a_forked_child_does_not_hold_its_dead_parents_office(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "lines"
    code = SAMPLE.replace("time.sleep(60)", "time.sleep(0.5)\nimport os\npid = os.fork()\ntime.sleep(60)")
    parent = start_python(code, home, "r1", RL_INSIGHT_DIR=str(folder), RL_INSIGHT_RESOURCES="")
    other = None
    try:
        wait_until(lambda: sampled(folder), "the parent's samples")
        wait_until(lambda: children(parent.pid), "the child")
        other = start(folder, home)
        wait_until(lambda: len(started(folder)) == 2, "the other process")
        child = children(parent.pid)[0]
        parent.send_signal(signal.SIGKILL)
        wait_until(lambda: len(sampled(folder)) == 2, "the other process's samples")
        os.kill(child, signal.SIGKILL)
    finally:
        for process in (parent, other):
            if process is not None:
                process.kill()
                process.communicate()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_two_runs_on_a_node_each_have_a_sampler(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "lines"
    processes = [start(folder, home, run) for run in ("r1", "r2")]
    try:
        wait_until(lambda: len(sampled(folder)) == 2, "samples of both runs")
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_a_gpu_is_told_with_its_number(lines: Lines) -> None:
    tell({"node_cpu_ratio": 0.5, "gpu0_utilization_ratio": 0.9, "gpu11_utilization_ratio": 0.1}, "n1")
    gpus = named(lines("gauge"), "gpu_utilization_ratio")
    assert [(line["value"], line["labels"]["gpu"]) for line in gpus] == [(0.9, "0"), (0.1, "11")]
    assert lines("fact")[0]["attrs"]["gpu11_utilization_ratio"] == 0.1


def test_a_machine_without_gpus_is_no_fault() -> None:
    assert isinstance(Gpus().look(), dict)


def test_a_probe_that_fails_is_counted_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    look, calls = Probe.look, []

    def flaky(self: Probe) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("no /proc today")
        return look(self)

    monkeypatch.setattr(Probe, "look", flaky)
    with recording(resources=FAST) as lines:
        wait_until(lambda: lines("fact"), "a sample after all")
        assert insight.status().problems == {"resources": 1}
