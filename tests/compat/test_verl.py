"""verl 0.9.1 unmodified: its own logger, from the real wheel, records into ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import running_engine
from harness import Server, running_server
from recorded import run_python
from verl_wheel import LOAD, TRAIN, verl_folder

TARGETS = "/api/v1/prometheus/targets"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("verl") / "data", settings={"scrape": {"interval": 0.5}}) as server:
        yield server


def everything_has_its_run(server: Server, run: str) -> None:
    """Every row belongs to a process that says project and experiment."""
    for table in ("point", "span"):
        (counted,) = server.query(
            f"SELECT count(*), count(*) FILTER (project = 'math' AND experiment = 'grpo-7b') "
            f"FROM {table} JOIN process USING (proc) WHERE {table}.run = $1",
            [run],
        )
        assert counted[0] == counted[1] > 0


def test_verls_own_logger_records_metrics_at_their_step_and_states_and_engines(server: Server, tmp_path: Path) -> None:
    code = f"""{LOAD}{TRAIN}
import os, sys, time
os.environ["VERL_RL_INSIGHT_ENABLE"] = "1"
tracking = load_verl()
import rl_insight
logger = train(tracking.RLInsightLogger, *sys.argv[1:3])
print(rl_insight.status().run)
now = time.time_ns()
logger.trace_span("tool_call", start_time_ns=now - 10**9, end_time_ns=now, attributes={{"step": 3}})
session = logger.agent_loop_session(experiment_name="grpo-7b", sample=1, session=2, global_steps=3)
session.finish(trajectories=[], status="completed")
rl_insight.flush(120)
del logger
tracking.RLInsightLogger.finish()
"""
    with running_engine() as engine:
        engine.running.set(4)
        said = run_python(code, tmp_path, server.url, engine.address, VERL_FOLDER=str(verl_folder()))
        run = said.split()[0]
        server.wait_stored()
        losses = server.query("SELECT step, value FROM point WHERE run = $1 AND name = 'actor_loss' ORDER BY ts", [run])
        assert losses == [[1, 1.0], [2, 0.5], [3, 1 / 3]]
        assert server.query("SELECT step FROM point WHERE run = $1 AND name = 'val-core_acc'", [run]) == [[0]]
        assert server.query("SELECT count(*) FROM point WHERE run = $1 AND name LIKE 'not%'", [run]) == [[0]]
        everything_has_its_run(server, run)
        spans = dict(server.query("SELECT name, count(*) FROM span WHERE run = $1 GROUP BY name", [run]))
        assert spans == {"vllm_generate": 3, "training_step": 3, "tool_call": 1, "agent_session": 1}
        (registered,) = server.request("GET", TARGETS).body["targets"]
        assert (registered["registered_run"], registered["labels"]) == (run, {"replica": "0"})
        steps = server.request("GET", f"/api/v1/runs/{run}/steps").body["steps"]
        assert [one["step"] for one in steps] == [1, 2, 3]
        assert all(one["step_s"] > 0.03 for one in steps)
    server.request("DELETE", f"{TARGETS}?run={run}")


def test_a_tracker_that_only_the_end_of_the_interpreter_finishes_loses_nothing(server: Server, tmp_path: Path) -> None:
    code = f"""{LOAD}
import os, sys
from omegaconf import OmegaConf
os.environ["VERL_RL_INSIGHT_ENABLE"] = "1"
tracking = load_verl()
config = OmegaConf.create({{"trainer": {{"rl_insight": {{"server": {{"url": sys.argv[1]}}}}}}}})
tracker = tracking.Tracking("math", "grpo-7b", ["rl_insight"], config)
for step in range(100):
    tracker.log({{"critic/score": float(step), "nan": float("nan")}}, step=step)
import rl_insight
print(rl_insight.status().run)
"""
    run = run_python(code, tmp_path, server.url, VERL_FOLDER=str(verl_folder())).split()[0]
    server.wait_stored()
    found = server.query(
        "SELECT count(*), max(step), max(value) FROM point WHERE run = $1 AND name = 'critic_score'", [run]
    )
    assert found == [[100, 99, 99.0]]
    assert server.query("SELECT DISTINCT state FROM process WHERE run = $1", [run]) == [["finished"]]
