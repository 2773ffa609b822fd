"""verl 0.9.1 unmodified: its own logger, from the real wheel, records into ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine import running_engine
from harness import Server, running_server, wait_until
from recorded import run_python, start_python
from verl_wheel import LOAD, verl_folder

TARGETS = "/api/v1/prometheus/targets"

# What verl's trainer does, in its order: engines are registered, then the tracking starts, then it logs each step.
TRAIN = """
def train(logger_class, url, engine):
    import time
    config = {"trainer": {"rl_insight": {"server": {"url": url}}}}
    logger_class.register_rollout_metrics([engine], "vllm", labels=[{"replica": 0}])
    logger = logger_class("math", "grpo-7b", config)
    logger.log(data={"val-core/acc": 0.1}, step=0)
    for step in (1, 2, 3):
        begun = time.time()
        with logger_class.trace_state("vllm_generate", state_lane_id="replica_0"):
            time.sleep(0.02)
        time.sleep(0.02)
        metrics = {"actor/loss": 1.0 / step, "not a number": "text", "timing_s/step": time.time() - begun}
        logger.log(data={**metrics, "training/global_step": step, "training/epoch": 0}, step=step)
    return logger
"""


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
rl_insight.flush(30)
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


WORKERS = """
import ray

ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": dict(
    VERL_RL_INSIGHT_ENABLE="1", VERL_FOLDER=os.environ["VERL_FOLDER"]
)})

@ray.remote
class Worker:
    # As verl's workers do it: nobody tells them anything, and the first state calls a bare init().
    def work(self, rank):
        import os, time
        logger = load_verl().RLInsightLogger
        assert not [name for name in os.environ if name.startswith("RL_INSIGHT_") and name != "RL_INSIGHT_QUIET"
                    and name != "RL_INSIGHT_RESOURCES"], sorted(os.environ)
        with logger.trace_state("actor_update", state_lane_id="rank_0"):
            time.sleep(0.05)
        logger.log({f"worker/{rank}": rank}, step=7)
        import rl_insight
        rl_insight.flush(30)
        return rl_insight.status().run, rl_insight.status().proc

@ray.remote
class TaskRunner:
    # verl's trainer is an actor itself.
    def run(self, url, engine):
        logger = train(load_verl().RLInsightLogger, url, engine)
        workers = [Worker.remote() for _ in range(2)]
        found = ray.get([worker.work.remote(rank) for rank, worker in enumerate(workers)])
        import rl_insight
        rl_insight.flush(30)
        found.append((rl_insight.status().run, rl_insight.status().proc))
        logger.finish()
        return found

import json, sys
print(json.dumps(ray.get(TaskRunner.remote().run.remote(*sys.argv[1:3]))))
ray.shutdown()
"""


def test_verls_ray_workers_join_the_run_without_being_told_and_their_lanes_stay_apart(
    server: Server, tmp_path: Path
) -> None:
    with running_engine() as engine:
        script = f"{LOAD}{TRAIN}{WORKERS}"
        with start_python(script, tmp_path, server.url, engine.address, VERL_FOLDER=str(verl_folder())) as process:
            said, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
        found: list[Any] = json.loads(said.splitlines()[-1])
        (run,) = {run for run, _ in found}
        assert len({proc for _, proc in found}) == 3
        wait_until(
            lambda: server.query("SELECT count(*) FROM span WHERE run = $1 AND name = 'actor_update'", [run])[0][0] == 2
        )
        server.wait_stored()
        everything_has_its_run(server, run)
        lanes = server.query("SELECT DISTINCT proc, lane FROM span WHERE run = $1 AND name = 'actor_update'", [run])
        assert [lane for _, lane in lanes] == ["rank_0", "rank_0"]
        shown = server.request("GET", f"/api/v1/runs/{run}/timeline/lanes").body
        assert sum(one["lane"] == "rank_0" for one in shown["lanes"]) == 2
        steps = server.query("SELECT DISTINCT step FROM point WHERE run = $1 AND name LIKE 'worker%'", [run])
        assert steps == [[7]]
        (registered,) = server.request("GET", TARGETS).body["targets"]
        assert registered["registered_run"] == run
    server.request("DELETE", f"{TARGETS}?run={run}")
