"""Each fault that the demo can plant is named by a read model: the worker, tool, session, queue or version at fault."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from rl_insight.read.flow import flow
from rl_insight.read.hotspots import hotspots
from rl_insight.read.now import live
from rl_insight.read.overview import overview
from rl_insight.read.session import session
from rl_insight.read.sessions import sessions
from rl_insight.read.steps import steps
from rl_insight.read.tasks import tasks
from rl_insight.store import Store
from stored import S, project

# Small and fast, with the fault from the second version of the weights on.
SMALL = ["--workers", "2", "--group", "4", "--batch", "4", "--speed", "5", "--fault-step", "2"]
STEPS = {
    "straggler": 8,
    "slow-tool": 10,
    "leaking-queue": 6,
    "reward-collapse": 8,
    "nan-loss": 5,
    "lost-weights": 8,
    "killed-worker": 6,
}
FAULTY = "rollout-1"


def start(folder: Path, fault: str, step_count: int) -> subprocess.Popen[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RL_INSIGHT_")}
    environment = {**kept, "RL_INSIGHT_DIR": str(folder), "RL_INSIGHT_SINK": "file", "RL_INSIGHT_QUIET": "1"}
    command = [sys.executable, "-m", "rl_insight.demo", *SMALL, "--fault", fault, "--steps", str(step_count)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Store]]:
    """Runs of all faults, two at a time in the background; the store of one when it is asked for."""
    folder = tmp_path_factory.mktemp("faults")

    def run(fault: str) -> Store:
        _, errors = (process := start(folder / fault / "lines", fault, STEPS[fault])).communicate(timeout=120)
        assert process.returncode == 0, errors
        return project(folder / fault / "lines", folder / fault / "data")

    with ThreadPoolExecutor(2) as pool:
        futures: dict[str, Future[Store]] = {fault: pool.submit(run, fault) for fault in STEPS}
        yield lambda fault: futures[fault].result()
    for future in futures.values():
        if future.exception() is None:
            future.result().close()


def test_straggler_hotspots_name_the_worker(run_of: Callable[[str], Store]) -> None:
    store = run_of("straggler")
    found = hotspots(store, scope="all", name="generate", part="phase", by="worker", sort="p95").stages
    # How much slower is left open: a busy machine slows the other worker down too.
    assert [one.by for one in found] == [FAULTY, "rollout-0"]
    slowest = sessions(store, q="step>=4", sort="generate", limit=5).sessions
    assert {one.worker for one in slowest} == {FAULTY}


def test_slow_tool_hotspots_name_the_tool(run_of: Callable[[str], Store]) -> None:
    found = hotspots(run_of("slow-tool"), scope="all", name="tool", part="phase", by="attr:tool", sort="p95").stages
    assert found[0].by == "multiply"


def test_leaking_queue_flow_names_the_queue_and_what_fell_out(run_of: Callable[[str], Store]) -> None:
    store = run_of("leaking-queue")
    found = flow(store)
    queue = max(found.queues, key=lambda queue: queue.evicted)
    assert queue.queue == "replay"
    assert queue.evicted > 0
    assert queue.put > queue.taken
    assert {one.reason for one in queue.evictions} <= {"queue full", "too stale"}
    assert found.funnel.dropped > 0
    assert {one.reason for one in found.reasons if one.status == "dropped"} <= {"queue full", "too stale"}
    # It is the trainer that is slow: most of its time is training, not waiting.
    late = [step for step in steps(store).steps if step.step >= 4 and step.stack]
    assert {step.stack[0].name for step in late} == {"train"}


def test_reward_collapse_tasks_have_no_spread(run_of: Callable[[str], Store]) -> None:
    store = run_of("reward-collapse")
    last = steps(store).steps[-1]
    assert last.tasks is not None
    assert last.zero_spread == last.tasks
    flat = tasks(store, q=f"step:{last.step}", zero_spread=True)
    assert flat.total >= last.tasks
    assert {one.reward_max for one in flat.tasks if one.trained_step == last.step} == {0.1}


def test_nan_loss_the_step_says_so(run_of: Callable[[str], Store]) -> None:
    store = run_of("nan-loss")
    found = {step.step: (step.outcome, step.reason) for step in steps(store).steps}
    assert found[1] == ("ok", None)
    assert found[5] == ("error", "loss is nan")
    assert any("loss is not finite" in one.text and one.worker == "trainer-0" for one in overview(store).errors)


def test_lost_weights_flow_names_the_worker_and_its_version(run_of: Callable[[str], Store]) -> None:
    found = flow(run_of("lost-weights"))
    worst = max(found.workers, key=lambda worker: worker.behind or 0)
    others = [worker for worker in found.workers if worker.worker != FAULTY]
    assert (worst.worker, worst.applied) == (FAULTY, 1)
    assert worst.behind == (worst.sent or 0) - 1
    assert all((other.behind or 0) <= 1 for other in others)
    old = [version for version in found.versions if version.weights == 1]
    assert max(version.staleness_max or 0 for version in old) >= 2


def test_killed_worker_is_lost_and_its_sessions_say_why(run_of: Callable[[str], Store]) -> None:
    store = run_of("killed-worker")
    now = time.time_ns() + 60 * S
    assert [one.worker for one in live(store, now=now).lost] == [FAULTY]
    failed = sessions(store, q="status:failed error:gone", now=now).sessions
    assert failed
    assert {one.worker for one in failed} <= {FAULTY, None}
    assert {one.reason for one in failed} == {"worker-1 is gone"}
    assert any(one.status == "failed" and one.reason == "worker-1 is gone" for one in flow(store, now=now).reasons)


def test_hung_session_is_the_first_suspect_while_it_hangs(tmp_path: Path) -> None:
    process = start(tmp_path / "lines", "hung-session", 100_000)
    try:
        deadline = time.monotonic() + 90
        while True:
            assert time.monotonic() < deadline, "no suspect was found"
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(1)
            if not list((tmp_path / "lines").glob("lines-*.jsonl")):
                continue
            store = project(tmp_path / "lines", tmp_path / "data")
            try:
                suspects = [one for one in live(store).sessions if one.suspect and one.stage == "tool"]
                if suspects:
                    story = session(store, suspects[0].session or "")
                    break
            finally:
                store.close()
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert suspects[0].worker == FAULTY
    assert suspects[0].why is not None
    assert suspects[0].why.startswith("in tool for")
    assert (story.session.status, story.session.stage, story.session.worker) == ("running", "tool", FAULTY)
    (hanging,) = [span for span in story.spans if span.open and span.kind == "phase"]
    assert hanging.name == "tool"
    assert "tool" in hanging.attrs
