"""`rl-insight demo` starts a server, trains, shows the run from the server, and leaves nothing running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil

QUICK = ["--workers", "2", "--speed", "10"]


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RL_INSIGHT_")}
    return subprocess.Popen(
        [sys.executable, "-m", "rl_insight.cli", "demo", *QUICK, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def still_using(data_dir: Path) -> list[psutil.Process]:
    """Processes on the data folder that do not end by themselves; a server lets go of it just before it is gone."""
    found = psutil.process_iter(["cmdline"])
    _, alive = psutil.wait_procs([each for each in found if str(data_dir) in (each.info["cmdline"] or [])], timeout=20)
    return alive


def test_the_demo_is_stored_and_its_server_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    run = start("--steps", "6", "--data-dir", str(folder))
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert "step" in output
    assert "finished" in output
    assert "Traceback" not in errors
    assert not still_using(folder)
    query = "SELECT count(DISTINCT step) AS steps FROM point WHERE name = 'reward_mean'"
    answer = subprocess.run(
        [sys.executable, "-m", "rl_insight.cli", "query", query, "-f", "csv", "--data-dir", str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.stdout.split() == ["steps", "6"], answer.stderr


def test_ctrl_c_stops_the_training_and_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    run = start("--steps", "100000", "--data-dir", str(folder))
    assert run.stdout is not None
    for line in run.stdout:
        if "step 0/" not in line:
            break
    children = psutil.Process(run.pid).children(recursive=True)
    assert children
    os.killpg(run.pid, signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive
    assert not still_using(folder)


def test_without_recording_the_same_run_is_only_trained() -> None:
    run = start("--steps", "3", "--no-record")
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    assert '"finished": true' in output
    assert "rl-insight" not in errors


def test_the_page_stays_after_the_run_until_ctrl_c(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    run = start("--steps", "2", "--data-dir", str(folder), "--stay")
    assert run.stderr is not None
    for line in run.stderr:
        if "the page stays at" in line:
            break
    link = line.split("the page stays at ")[1].split("/#")[0]
    with urllib.request.urlopen(f"{link}/healthz", timeout=20) as answer:
        assert answer.status == 200
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 0
    assert not still_using(folder)
