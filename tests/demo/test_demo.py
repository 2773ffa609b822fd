"""The demo run learns, ends cleanly, and survives each of its planted faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from rl_insight.demo.options import FAULTS

# Two workers, small groups and a fast clock: a step takes a fraction of a second.
SMALL = ["--workers", "2", "--group", "4", "--batch", "8", "--speed", "10"]


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RL_INSIGHT_")}
    environment |= {"RL_INSIGHT_DIR": str(folder), "RL_INSIGHT_QUIET": "1"}
    command = [sys.executable, "-m", "rl_insight.demo", *SMALL, "--checkpoints", str(folder), *arguments]
    # A session of its own is a process group of its own: that is whom a terminal's Ctrl-C would reach.
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def ended(run: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = run.communicate(timeout=120)
    return run.returncode, output, errors


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in folder.glob("lines-*.jsonl") for line in path.open()]


def processes_of(run: subprocess.Popen[str]) -> list[psutil.Process]:
    """All children, once the run is under way."""
    for line in run.stdout or ():
        if line.startswith("step"):
            break
    return psutil.Process(run.pid).children(recursive=True)


def test_reward_rises(tmp_path: Path) -> None:
    code, output, errors = ended(start(tmp_path, "--steps", "60", "--speed", "20"))
    assert code == 0, errors
    result = json.loads(output.splitlines()[-1])
    assert result["finished"]
    assert result["first_reward"] < 0.2
    assert result["last_reward"] > result["first_reward"] + 0.3
    rewards = {
        line["step"]: line["value"]
        for line in lines(tmp_path)
        if line["kind"] == "gauge" and line["name"] == "reward_mean"
    }
    assert sorted(rewards) == list(range(1, 61)), "one value a step is recorded"
    assert rewards[60] > rewards[1]


@pytest.mark.parametrize("killed", [False, True], ids=["as-it-is", "after-a-worker-was-killed"])
def test_ctrl_c_leaves_no_process_and_no_traceback(tmp_path: Path, killed: bool) -> None:
    run = start(tmp_path, "--steps", "100000")
    children = processes_of(run)
    if killed:
        workers = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
        workers[0].kill()
    os.killpg(run.pid, signal.SIGINT)
    code, _, errors = ended(run)
    assert code == 130
    assert errors == ""
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive


def test_killing_the_controller_ends_all(tmp_path: Path) -> None:
    run = start(tmp_path, "--steps", "100000")
    children = processes_of(run)
    assert len(children) >= 4
    run.kill()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive
    run.communicate()


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "none"])
def test_a_run_with_a_planted_fault_comes_to_its_end(tmp_path: Path, fault: str) -> None:
    run = start(tmp_path, "--steps", "8", "--fault", fault, "--fault-step", "2")
    code, output, errors = ended(run)
    assert code == 0, errors
    assert "Traceback" not in errors
    assert json.loads(output.splitlines()[-1])["steps"] == 8


def test_everything_the_product_can_show_is_recorded(tmp_path: Path) -> None:
    code, _, errors = ended(start(tmp_path, "--steps", "10", "--speed", "20"))
    assert code == 0, errors
    recorded = lines(tmp_path)
    assert {line["kind"] for line in recorded} >= {"process", "count", "gauge", "sample", "span", "log", "fact"}
    assert {(line["role"], line["rank"]) for line in recorded if line["kind"] == "process"} == {
        ("controller", 0),
        ("rollout", 0),
        ("rollout", 1),
        ("reward", 0),
        ("trainer", 0),
    }
    assert len({line["run"] for line in recorded if line["kind"] == "process"}) == 1
    assert {line.get("part") for line in recorded if line["kind"] == "span"} >= {"task", "session", "turn", "phase"}
    assert {line["name"] for line in recorded if line["kind"] == "fact"} >= {
        "task.item.put",
        "task.item.assigned",
        "task.item.taken",
        "task.item.finished",
        "reward.score.requested",
        "reward.score.answered",
        "queue.sample.put",
        "queue.sample.taken",
        "train.step.started",
        "train.step.finished",
        "weights.version.sent",
        "weights.version.received",
        "weights.version.applied",
        "ckpt.file.started",
        "ckpt.file.finished",
    }
    assert not [line for line in recorded if line["kind"] == "lost"]
    trained = {line["tags"]["task"] for line in recorded if line.get("name") == "queue.sample.taken"}
    put = {line["tags"]["task"] for line in recorded if line.get("name") == "queue.sample.put"}
    assert trained
    assert trained <= put
