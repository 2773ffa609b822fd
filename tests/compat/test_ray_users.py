"""On a Ray cluster: the example that every user starts from, and verl's workers, whom nobody tells anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import running_engine
from harness import running_server
from prometheus_server import running_prometheus
from ray_cluster import RayCluster
from verl_wheel import LOAD, TRAIN, verl_folder

EVENTS = 20_000
TARGETS = "/api/v1/prometheus/targets"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    cluster = RayCluster(tmp_path_factory.mktemp("ray") / "home", nodes=1)
    yield cluster
    cluster.stop()


EXAMPLE = """
import ray
import rl_insight as insight

ray.init(address="auto", namespace="rl-insight-monitor")
insight.init()

insight.metric_count("train_step_total", amount=1, worker="trainer_0")
insight.metric_value("reward_mean", value=0.7, worker="trainer_0")
insight.metric_distribution("step_latency_ms", value=41.0, worker="trainer_0")

with insight.trace_state("rollout", state_lane_id="trainer_0", step=10):
    pass

@insight.trace_op("update_model", stage="optimizer")
def update_model(batch): ...

update_model(None)
done = insight.update_prometheus_config(
    conf={"prometheus": {"config_file": "prometheus.yml", "prometheus_port": 9090, "reload": {"mode": "ray"}}},
    server_addresses=["127.0.0.1:9092"],
)
"""

AND_THEN = """
for number in range(int(sys.argv[1])):
    insight.metric_count("event", 1)
insight.update_prometheus_config([sys.argv[2]], "vllm")  # on a busy machine this is done a little later
insight.flush(180)
where = ray.get(collector().where.remote())
from urllib.request import Request, urlopen
def ask(path):
    return json.load(urlopen(Request(where["url"] + path, headers={"Authorization": "Bearer " + where["token"]})))
wait(lambda: ask("/api/v1/prometheus/targets")["targets"])
print(json.dumps([done, ask("/api/v1/status")["collector"], ask("/api/v1/prometheus/targets")["targets"]]))
"""


def test_the_example_of_every_user_works_with_a_call_a_batch_and_not_one_an_event(
    cluster: RayCluster, tmp_path: Path
) -> None:
    with running_engine() as engine, running_prometheus(tmp_path / "prometheus") as prometheus:
        code = EXAMPLE.replace("127.0.0.1:9092", engine.address).replace("9090", str(prometheus.port))
        code = code.replace("prometheus.yml", str(prometheus.config_file)) + AND_THEN
        job = cluster.drive(code, str(EVENTS), engine.address, RAY_ADDRESS=cluster.address)
        done, status, (target,) = job.said
        assert done is True
        assert status["accepted"] >= EVENTS
        assert status["batches"] * 100 < EVENTS
        assert (target["target"], target["job_name"]) == (engine.address, "vllm")
        assert prometheus.wait_query('{__name__=~"vllm.num_requests_running"}')
        with job.stored() as store:

            def rows(sql: str) -> list[tuple[object, ...]]:
                return [tuple(row) for row in store.rows(sql).rows]

            assert rows("SELECT name, lane, step FROM span WHERE part = 'state'") == [("rollout", "trainer_0", 10)]
            assert rows("SELECT value FROM point WHERE name = 'reward_mean'") == [(0.7,)]
            assert rows("SELECT count(*) FROM span WHERE name = 'update_model'") == [(1,)]
            assert rows("SELECT DISTINCT run FROM process") == [(target["registered_run"],)]


VERL = """
ray.init(address=os.environ["CLUSTER"], log_to_driver=False, runtime_env={"env_vars": dict(
    VERL_RL_INSIGHT_ENABLE="1", VERL_FOLDER=os.environ["VERL_FOLDER"]
)})

@ray.remote(num_cpus=0)
class Worker:
    # As verl's workers do it: nobody tells them anything, and the first state calls a bare init().
    def work(self, rank):
        told = [name for name in os.environ if name.startswith("RL_INSIGHT_")]
        logger = load_verl().RLInsightLogger
        with logger.trace_state("actor_update", state_lane_id="rank_0"):
            time.sleep(0.05)
        logger.log({"of/worker": rank}, step=7)
        insight.flush(180)
        return told, insight.status().run, insight.status().proc

@ray.remote(num_cpus=0)
class TaskRunner:
    # verl's trainer is an actor itself.
    def run(self, url, engine):
        logger = train(load_verl().RLInsightLogger, url, engine)
        workers = [Worker.remote() for _ in range(2)]
        found = ray.get([worker.work.remote(rank) for rank, worker in enumerate(workers)])
        insight.flush(180)
        run, proc = insight.status().run, insight.status().proc
        wait(lambda: not sys.modules["rl_insight.ship.targets"]._waiting)
        logger.finish()
        return [*found, ([], run, proc)]

print(json.dumps(ray.get(TaskRunner.remote().run.remote(*sys.argv[1:3]))))
"""


def test_verls_workers_join_the_run_without_being_told_and_their_lanes_stay_apart(
    cluster: RayCluster, tmp_path: Path
) -> None:
    with running_engine() as engine, running_server(tmp_path / "data") as server:
        code = LOAD + TRAIN + VERL
        found = cluster.drive(code, server.url, engine.address, VERL_FOLDER=str(verl_folder())).said
        assert [told for told, _, _ in found] == [[], [], []]
        (run,) = {run for _, run, _ in found}
        assert len({proc for _, _, proc in found}) == 3
        server.wait_stored()
        for table in ("point", "span"):
            (counted,) = server.query(
                f"SELECT count(*), count(*) FILTER (project = 'math' AND experiment = 'grpo-7b') "
                f"FROM {table} JOIN process USING (proc) WHERE {table}.run = $1",
                [run],
            )
            assert counted[0] == counted[1] > 0
        lanes = server.request("GET", f"/api/v1/runs/{run}/timeline/lanes").body["lanes"]
        assert sum(one["lane"] == "rank_0" for one in lanes) == 2
        assert server.query(
            "SELECT step, value FROM point WHERE run = $1 AND name = 'of_worker' ORDER BY value", [run]
        ) == [
            [7, 0.0],
            [7, 1.0],
        ]
        (registered,) = server.request("GET", TARGETS).body["targets"]
        assert registered["registered_run"] == run
