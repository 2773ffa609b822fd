"""Inside a Ray job of several nodes: who records joins, and what is recorded arrives, whoever dies meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import running_server
from ray_cluster import Job, RayCluster, finish, tell, wait_for
from recorded import lines_in, wait_until
from rl_insight.read.verify import verify


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    cluster = RayCluster(tmp_path_factory.mktemp("ray") / "home", nodes=3)
    yield cluster
    cluster.stop()


def test_workers_on_every_node_join_by_themselves_and_each_node_is_sampled_once(cluster: RayCluster) -> None:
    job = cluster.drive("""
    begin()

    @ray.remote(num_cpus=0)
    class Rollout:
        def play(self):
            before = {key for key in os.environ if key.startswith("RL_INSIGHT_")}
            insight.init()
            insight.metric_gauge("reward", 1.0)
            return sorted(before), ray.get_runtime_context().get_node_id()

    workers = [Rollout.options(scheduling_strategy=on(node)).remote() for node in nodes()]
    seen = ray.get([worker.play.remote() for worker in workers])
    sampled = "SELECT count(DISTINCT tags ->> 'node') FROM fact WHERE name = 'resource.sampled'"
    wait(lambda: query(sampled) == [[3]])
    insight.metric_gauge("loss", 0.5)
    print(json.dumps({"run": insight.status().run, "seen": seen, "nodes": nodes()}))
    # Ends without close().
    """)
    assert [before for before, _ in job.said["seen"]] == [[], [], []]
    assert [node for _, node in job.said["seen"]] == job.said["nodes"]
    with job.stored() as store:

        def ask(sql: str) -> list[tuple[object, ...]]:
            return [tuple(row) for row in store.rows(sql).rows]

        assert ask("SELECT DISTINCT run, project, experiment, labels ->> 'zone' FROM process") == [
            (job.said["run"], "math", "grpo", "b")
        ]
        assert ask("SELECT role, count(*), count(DISTINCT node) FROM process GROUP BY role ORDER BY role") == [
            ("Rollout", 3, 3),
            ("sampler", 3, 3),
            (None, 1, 1),
        ]
        assert ask("SELECT DISTINCT aliases ->> 'ray_node' FROM process WHERE role = 'Rollout' ORDER BY 1") == [
            (node,) for node in job.said["nodes"]
        ]
        assert ask("SELECT name, count(*) FROM point WHERE name IN ('loss', 'reward') GROUP BY name ORDER BY name") == [
            ("loss", 1),
            ("reward", 3),
        ]
        told = "SELECT tags ->> 'node' AS node, proc, min(ts) AS first, max(ts) AS last FROM fact"
        told += " WHERE name = 'resource.sampled' GROUP BY ALL"
        samplers = f"({told}) AS told JOIN process USING (proc) WHERE role = 'sampler'"
        assert ask(f"SELECT count(*), count(DISTINCT told.node) FROM {samplers}") == [(3, 3)]
        # Whoever stood in for a sampler that was late has left it the place.
        both = "one.node = other.node AND one.proc < other.proc AND one.first <= other.last AND other.first <= one.last"
        assert ask(f"SELECT count(*) FROM ({told}) AS one JOIN ({told}) AS other ON {both}") == [(0,)]
        assert ask("SELECT state FROM process WHERE role IS NULL") == [("finished",)]
        assert ask("SELECT count(*) FROM process WHERE aliases ->> 'ray_actor' IS NOT NULL") == [(6,)]
        assert verify(store).clean


def test_a_collector_killed_five_times_gets_every_line_once(cluster: RayCluster) -> None:
    job = cluster.drive("""
    begin(ray={"samplers": False})

    @ray.remote(num_cpus=0)
    class Producer:
        def __init__(self):
            insight.init()

        def record(self, first, count):
            for number in range(first, first + count):
                insight.metric_gauge("value", number)

        def finish(self):
            done = insight.flush(180)
            insight.close()
            return done, insight.status().lost

    producers = [Producer.options(scheduling_strategy=on(node)).remote() for node in nodes()]
    pids, places = set(), set()
    for part in range(10):
        recorded = [producer.record.remote(part * 10_000, 10_000) for producer in producers]
        if part % 2:
            def up():
                try:
                    return ray.get(collector().where.remote(), timeout=10)
                except Exception:
                    return None
            wait(up)
            pid, place = up()["pid"], up()["node"]
            pids.add(pid)
            places.add(place)
            if part % 4 == 1:
                os.kill(pid, signal.SIGKILL)
            else:
                ray.kill(collector(), no_restart=False)
        ray.get(recorded)
    done = ray.get([producer.finish.remote() for producer in producers])
    print(json.dumps({"done": done, "killed": len(pids), "places": len(places)}))
    """)
    assert job.said == {"done": [[True, 0]] * 3, "killed": 5, "places": 1}
    with job.stored() as store:
        values = "FROM point WHERE name = 'value'"
        counts = store.rows(
            f"SELECT count(*), count(DISTINCT (proc, value)), count(DISTINCT (proc, seq)) {values}"
        ).rows
        assert tuple(counts[0]) == (300_000, 300_000, 300_000)
        assert verify(store).clean


TRACED = """
from rl_insight.adapters.ray import call, carried

@ray.remote(num_cpus=0)
@carried
def by_hand(number):
    with insight.trace_span("by_hand"):
        return number

@ray.remote(num_cpus=0)
@carried
class Judge:
    def __init__(self):
        insight.init()

    async def judge(self, number, *, weight=1):
        with insight.trace_span("judge"):
            return number * weight

    def stream(self, count):
        for number in range(count):
            with insight.trace_span("stream"):
                yield number

    def left_alone(self, **options):
        return options

def untraced(number):
    return number

not_carried = ray.remote(num_cpus=0)(untraced)
begin(ray={"trace_calls": True, "samplers": False})

class Reward:
    def score(self, number):
        insight.init()
        with insight.trace_span("score"):
            return ray.get(nested.remote(number))

@ray.remote(num_cpus=0)
def nested(number):
    insight.init()
    with insight.trace_span("nested"):
        return number

automatic = ray.remote(num_cpus=0)(Reward).remote()
judge = Judge.remote()
with insight.trace_span("step") as step:
    said = [
        ray.get(call(by_hand, 1)),
        ray.get(call(judge.judge, 2, weight=3)),
        [ray.get(ref) for ref in judge.stream.options(num_returns="streaming").remote(2)],
        ray.get(judge.left_alone.remote(a=1)),
        ray.get(not_carried.remote(4)),
        ray.get(call(not_carried, 5)),
        ray.get(automatic.score.remote(6)),
    ]
said.append(ray.get(by_hand.remote(7)))
print(json.dumps({"run": insight.status().run, "said": said}))
insight.metric_gauge("before the shutdown", 1)
ray.shutdown()
insight.metric_gauge("after the shutdown", 1)
"""

EARLY = """
ray.init(address=os.environ["CLUSTER"], log_to_driver=False)

@ray.remote(num_cpus=0)
class Early:
    def record(self):
        insight.init()
        insight.metric_gauge("early", 1)
        return insight.status().active, insight.status().run

    def run(self):
        insight.flush(120)
        return insight.status().run

early = Early.remote()
first = ray.get(early.record.remote())
insight.init(project="code", config={"ship": {"heartbeat": 1}, "ray": {"samplers": False}})
joined = ray.get(early.run.remote())
# A process that ends in order and starts again is in the run of the job as before.
print(json.dumps({"run": insight.status().run, "joined": joined, "first": first}))
insight.close()
"""


def test_two_jobs_at_once_have_a_run_and_a_collector_each(cluster: RayCluster) -> None:
    drivers = [cluster.start_driver(code) for code in (TRACED, EARLY)]
    traced, early = (finish(driver) for driver in drivers)
    assert traced.folder != early.folder
    assert {job.errors.split("is at http://")[1].split()[0] for job in (traced, early)} == {
        f"127.0.0.1:{json.loads((job.folder / 'actor.json').read_text())['port']}" for job in (traced, early)
    }
    # A worker that is earlier than the driver is not held up, and joins as soon as there is a run.
    assert early.said == {"run": early.said["run"], "joined": early.said["run"], "first": [True, ""]}
    assert early.rows("SELECT DISTINCT run, project FROM process") == [(early.said["run"], "code")]
    assert early.rows("SELECT name, value FROM point WHERE name = 'early'") == [("early", 1.0)]
    # ray.shutdown() delivers first; what comes after it is in files.
    assert traced.rows("SELECT name FROM point WHERE name LIKE '%shutdown'") == [("before the shutdown",)]
    assert traced.rows("SELECT state FROM process WHERE aliases ->> 'ray_leads' = 'yes'") == [("finished",)]
    after = lines_in(cluster.home / ".rl-insight" / "runs" / traced.said["run"])
    assert [line["name"] for line in after if line["kind"] == "gauge"] == ["after the shutdown"]
    # Traces cross calls, and calls to what knows nothing of traces are as they were.
    assert traced.said["said"] == [1, 6, [0, 1], {"a": 1}, 4, 5, 6, 7]
    with traced.stored() as store:
        spans = store.rows(
            "SELECT name, id, parent, trace FROM span WHERE run = $run", {"run": traced.said["run"]}
        ).rows
    by_name = {name: (identity, parent, trace) for name, identity, parent, trace in spans}
    step, _, trace = by_name["step"]
    assert sorted(name for name, *_ in spans) == sorted(
        ["step", "by_hand", "judge", "stream", "stream", "score", "nested", "by_hand"]
    )
    for name in ("judge", "stream", "score"):
        assert by_name[name][1:] == (step, trace), name
    assert by_name["nested"][1:] == (by_name["score"][0], trace)
    assert {parent for name, _, parent, _ in spans if name == "by_hand"} == {step, None}


def test_a_detached_collector_is_there_for_the_next_job(cluster: RayCluster) -> None:
    code = """
    ray.init(address=os.environ["CLUSTER"], log_to_driver=False)
    insight.init(project=sys.argv[1], config={"ray": {"detached": True, "samplers": False}, "ship": {"heartbeat": 1}})
    insight.metric_gauge("loss", 0.5)
    assert insight.flush(120)
    shared = ray.get_actor("rl_insight_collector", namespace="rl_insight_monitor")
    ray.get(shared.settle.remote())
    found = query("SELECT DISTINCT project FROM process ORDER BY project", shared)
    if sys.argv[1] == "second":
        insight.close()
        ray.kill(shared)
    print(json.dumps(found))
    """
    assert cluster.drive(code, "first").said == [["first"]]
    assert cluster.drive(code, "second").said == [["first"], ["second"]]


EXAMPLE = """
import ray
import rl_insight as insight

ray.init(address="auto", namespace="rl-insight-monitor")
insight.init()                                             # traces also go to OTEL_EXPORTER_OTLP_TRACES_ENDPOINT if set

insight.metric_count("train_step_total", amount=1, worker="trainer_0")
insight.metric_value("reward_mean", value=0.7, worker="trainer_0")
insight.metric_distribution("step_latency_ms", value=41.0, worker="trainer_0")

with insight.trace_state("rollout", state_lane_id="trainer_0", step=10):
    rollout()

@insight.trace_op("update_model", stage="optimizer")
def update_model(batch): ...

insight.update_prometheus_config(
    conf={"prometheus": {"config_file": "prometheus.yml", "prometheus_port": 9090, "reload": {"mode": "ray"}}},
    server_addresses=["127.0.0.1:9092"],
)
"""


def test_the_example_that_every_user_starts_from_works_as_written(cluster: RayCluster, tmp_path: Path) -> None:
    (cluster.home / "prometheus.yml").write_text("scrape_configs: []\n")
    with running_server(tmp_path / "data") as receiver:
        job = cluster.drive(
            "def rollout():\n    pass\n"
            + EXAMPLE
            + """
update_model(None)
assert insight.flush(120)
import urllib.request
where = ray.get(collector().where.remote())

def metrics():
    with urllib.request.urlopen(where["url"] + "/metrics") as answer:
        return answer.read().decode()

wait(lambda: "reward_mean" in metrics())
wait(lambda: len(query("SELECT name FROM span")) == 2)
of_the_example = "FROM point WHERE NOT starts_with(name, 'node_') ORDER BY ALL"
points = query("SELECT kind, name, value, labels ->> 'worker' " + of_the_example)
spans = query("SELECT name, lane, attrs ->> 'stage', step FROM span ORDER BY name")
print(json.dumps({"points": points, "spans": spans, "metrics": metrics()}))
""",
            RAY_ADDRESS=cluster.address,
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{receiver.url}/v1/traces",
        )
        assert job.said["points"] == [
            ["count", "train_step_total", 1.0, "trainer_0"],
            ["gauge", "reward_mean", 0.7, "trainer_0"],
            ["sample", "step_latency_ms", 41.0, "trainer_0"],
        ]
        assert job.said["spans"] == [["rollout", "trainer_0", None, 10], ["update_model", None, "optimizer", None]]
        shown = [line for line in job.said["metrics"].splitlines() if not line.startswith("#")]
        for name, value in (
            ("train_step_total", "1.0"),
            ("reward_mean", "0.7"),
            ("step_latency_ms_sum", "41.0"),
            ("step_latency_ms_count", "1.0"),
        ):
            (line,) = [one for one in shown if one.startswith(f"rl_insight_monitor_{name}{{")]
            assert 'worker="trainer_0"' in line
            assert line.endswith(f" {value}")
        assert "127.0.0.1:9092" in (cluster.home / "prometheus.yml").read_text()
        wait_until(lambda: receiver.query("SELECT count(*) FROM span WHERE name = 'rollout'") == [[1]], "the trace")


LED_BY_A_WORKER = """
ray.init(address=os.environ["CLUSTER"], log_to_driver=False)

@ray.remote(num_cpus=0)
class Trainer:
    def lead(self):
        insight.init(project="code", config={"ship": {"heartbeat": 1}, "ray": {"samplers": False}})
        return insight.flush(120)

trainer = Trainer.options(scheduling_strategy=on(sys.argv[1])).remote()
assert ray.get(trainer.lead.remote())
insight.init()
before = ray.get(collector().where.remote())["node"]
print("remove", flush=True)
sys.stdin.readline()
insight.metric_gauge("after", 1.0)
assert insight.flush(180)
ray.get(collector().settle.remote())
after = ray.get(collector().where.remote())["node"]
print(json.dumps([before, after, query("SELECT value FROM point WHERE name = 'after'")]))
"""


def test_nodes_come_and_go_and_a_killed_driver_leaves_everything_stored(cluster: RayCluster) -> None:
    driver = cluster.start_driver("""
    begin()

    @ray.remote(num_cpus=0, max_restarts=0)
    class Rollout:
        def play(self, name):
            insight.init()
            insight.metric_gauge(name, 1.0)
            return insight.flush(120)

    print("began", flush=True)
    node = sys.stdin.readline().strip()
    worker = Rollout.options(scheduling_strategy=on(node)).remote()
    assert ray.get(worker.play.remote("on a new node"))
    sampled = "SELECT count(DISTINCT tags ->> 'node') FROM fact WHERE name = 'resource.sampled'"
    wait(lambda: query(sampled) == [[len(nodes())]])
    print("remove", flush=True)
    sys.stdin.readline()
    here = ray.get_runtime_context().get_node_id()
    other = Rollout.options(scheduling_strategy=on(here)).remote()
    assert ray.get(other.play.remote("after its removal"))
    insight.metric_gauge("loss", 0.5)
    assert insight.flush(120)
    print("kill me", flush=True)
    time.sleep(600)
    """)
    wait_for(driver, "began")
    node = cluster.add_node()
    tell(driver, node)
    led = cluster.start_driver(LED_BY_A_WORKER, node)
    for one in (driver, led):
        wait_for(one, "remove")
    cluster.remove_node(node)
    for one in (driver, led):
        tell(one, "removed")
    # A collector that is lost with its node is started again by those who miss it.
    before, after, stored = finish(led).said
    assert (before, stored) == (node, [[1.0]])
    assert after != node
    wait_for(driver, "kill me")
    driver.kill()
    job = Job(*driver.communicate())
    with job.stored() as store:
        named = store.rows("SELECT name FROM point WHERE NOT starts_with(name, 'node_') ORDER BY name").rows
        assert [tuple(row) for row in named] == [("after its removal",), ("loss",), ("on a new node",)]
        sampled = store.rows(
            "SELECT count(DISTINCT fact.proc) FROM fact JOIN process USING (proc)"
            " WHERE fact.name = 'resource.sampled' AND aliases ->> 'ray_node' = $node",
            {"node": node},
        )
        assert tuple(sampled.rows[0]) == (1,)
        assert verify(store).clean


def test_a_server_on_the_drivers_loopback_is_reached_from_every_node(cluster: RayCluster, tmp_path: Path) -> None:
    with running_server(tmp_path / "data") as server:
        driver = cluster.start_driver(
            """
            ray.init(address=os.environ["CLUSTER"], log_to_driver=False)
            insight.init(config={"server": {"url": sys.argv[1]}, "resources": {"interval": 0.2}})

            @ray.remote(num_cpus=0)
            class Rollout:
                def play(self):
                    insight.init()
                    insight.metric_gauge("reward", 1.0)
                    import subprocess
                    subprocess.run([sys.executable, "-c", "import rl_insight as insight; insight.init();"
                                    "insight.metric_gauge('by a child', 1.0)"], check=True)
                    return insight.flush(120), insight.status().sink.split(":")[0]

            workers = [Rollout.options(scheduling_strategy=on(node)).remote() for node in nodes()]
            said = ray.get([worker.play.remote() for worker in workers])
            print("played", flush=True)
            sys.stdin.readline()
            print(json.dumps(said))
            """,
            server.url,
        )
        wait_for(driver, "played")
        # What a child on another node left is delivered by the sampler there.
        rows = "FROM point WHERE name IN ('reward', 'by a child') GROUP BY name ORDER BY name"
        named = f"SELECT name, count(DISTINCT proc) {rows}"
        wait_until(lambda: server.query(named) == [["by a child", 3], ["reward", 3]], "lines of every node", 180)
        tell(driver, "end")
        job = finish(driver)
        assert sorted(job.said) == [[True, "http"], [True, "ray-actor"], [True, "ray-actor"]]
        assert server.query("SELECT count(DISTINCT run) FROM process") == [[1]]
