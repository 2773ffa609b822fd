"""Every query of every panel and alert, asked of a real Prometheus as the stack runs it, about a real small run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from harness import Server, clean_environment, encode, process_line, running_server, wait_until
from prometheus_server import Prometheus, binary, free_port, running_prometheus
from rl_insight import config
from rl_insight.export.metric_names import CATALOGUE
from rl_insight.stack import plan as plans
from rl_insight.stack.supervise import Supervisor
from shown import DASHBOARDS, RULES, Query, alerts, filled, promql

TOKEN = "a-token-of-the-test"
# What people look at (docs/grafana.md), under the names that vLLM 0.12 and SGLang 0.5 give them.
GAUGES = """vllm:num_requests_running vllm:num_requests_waiting vllm:kv_cache_usage_perc sglang:num_running_reqs
    sglang:num_queue_reqs sglang:token_usage sglang:cache_hit_rate sglang:num_retracted_reqs"""
COUNTERS = """vllm:generation_tokens vllm:prompt_tokens vllm:prefix_cache_hits vllm:prefix_cache_queries
    vllm:num_preemptions sglang:generation_tokens sglang:prompt_tokens sglang:num_aborted_requests"""
HISTOGRAMS = """vllm:time_to_first_token_seconds vllm:inter_token_latency_seconds vllm:request_queue_time_seconds
    vllm:request_prefill_time_seconds vllm:request_decode_time_seconds vllm:e2e_request_latency_seconds
    sglang:time_to_first_token_seconds sglang:inter_token_latency_seconds sglang:queue_time_seconds
    sglang:e2e_request_latency_seconds"""


class Scene(NamedTuple):
    """A server with a run and engines, and the Prometheus of its stack."""

    server: Server
    prometheus: Prometheus
    engine: str


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    binary()
    folder = tmp_path_factory.mktemp("stack")
    settings: dict[str, Any] = {
        "token": TOKEN,
        "scrape": {"interval": 0.5},
        # Nobody listens there: what is to be exported waits, and is counted.
        "otlp_export": [{"endpoint": f"http://127.0.0.1:{free_port()}", "name": "nowhere"}],
        "prometheus": {"max_series": 50},
        "stack": {"prometheus_port": free_port(), "scrape_interval": 3, "services_dir": str(folder)},
    }
    with running_server(folder / "data", settings=settings) as server, _engine() as engine:
        server.token = TOKEN
        registered = {"job_name": "tiny", "targets": [engine]}
        assert server.request("POST", "/api/v1/prometheus/targets", json.dumps(registered).encode()).status == 200
        chosen = config.load({"collector": {**settings, "host": "127.0.0.1", "port": 1}}).collector
        plan, missing = plans.make(server.data_dir, chosen, ["prometheus"])
        assert not missing
        with _demo(server), _supervised(plan):
            _more(server, time.time_ns())
            yield Scene(server, _asked(plan), engine)


@contextmanager
def _engine() -> Iterator[str]:
    """Both kinds of engine at one address; something happens all the time."""
    registry = CollectorRegistry()
    gauges = [Gauge(name, name, ["engine"], registry=registry).labels("0") for name in GAUGES.split()]
    counters = [Counter(name, name, ["engine"], registry=registry).labels("0") for name in COUNTERS.split()]
    aborted = Counter("vllm:request_success", "by reason", ["finished_reason"], registry=registry)
    counters += [aborted.labels("abort"), aborted.labels("stop")]
    histograms = [Histogram(name, name, ["engine"], registry=registry).labels("0") for name in HISTOGRAMS.split()]
    server, thread = start_http_server(0, "127.0.0.1", registry=registry)
    over = threading.Event()

    def live() -> None:
        while not over.wait(0.1):
            for gauge in gauges:
                gauge.set(0.5)
            for counter in counters:
                counter.inc(3)
            for histogram in histograms:
                histogram.observe(0.2)

    living = threading.Thread(target=live)
    living.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        over.set()
        living.join()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def _demo(server: Server) -> Iterator[None]:
    """The demo's training run, small, for as long as it is looked at."""
    sizes = {"steps": 100000, "workers": 1, "group": 4, "batch": 2, "speed": 1}
    run = [sys.executable, "-m", "rl_insight.demo", "--with-parent"]
    run += [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
    environment = clean_environment(
        RL_INSIGHT_SERVER_URL=f"http://127.0.0.1:{server.port}", RL_INSIGHT_TOKEN=TOKEN, RL_INSIGHT_QUIET="1"
    )
    said = (server.data_dir.parent / "demo.log").open("wb")
    with (
        said,
        subprocess.Popen(run, env=environment, stdout=said, stderr=said) as it,
    ):
        try:
            yield
        finally:
            it.terminate()


@contextmanager
def _supervised(plan: plans.Plan) -> Iterator[None]:
    supervisor, settled = Supervisor(plan), threading.Event()
    thread = threading.Thread(target=supervisor.run, args=(lambda _: settled.set(),))
    thread.start()
    try:
        assert settled.wait(60)
        yield
    finally:
        supervisor.stop()
        thread.join()


def _asked(plan: plans.Plan) -> Prometheus:
    """The running one, to be asked as the tests' own are."""
    prometheus = Prometheus.__new__(Prometheus)
    prometheus.folder, prometheus.port, prometheus.url = plan.folder / "prometheus", plan.ports.prometheus, ""
    return prometheus


def _more(server: Server, now: int) -> None:
    """What the demo has not: GPUs, lost lines, a hole, a label with too many values, a process that falls silent."""
    about = {"project": "stack", "experiment": "tests", "role": "trainer", "rank": 7, "node": "n"}
    lines = [process_line("more", ts=now, run="more", heartbeat=5.0, **about)]

    def tell(kind: str, name: str, **fields: Any) -> None:
        lines.append({"kind": kind, "proc": "more", "seq": len(lines) + 1, "ts": now, "name": name, **fields})

    for name in sorted(name for name in CATALOGUE if name.startswith("rl_insight_gpu_")):
        tell("gauge", name.removeprefix("rl_insight_"), value=0.5, labels={"node": "n", "gpu": "0"})
    for number in range(200):
        tell("gauge", "by_prompt", value=1.0, labels={"prompt": str(number)})
    tell("lost", "lost", count=3, reason="spool full")
    for session, status in (("s1", "accepted"), ("s2", "rejected")):
        tags = {"session": session}
        tell("fact", "session.sample.finished", tags=tags, attrs={"status": status})
    tell("gauge", "after_a_hole", value=1.0)
    lines[-1]["seq"] += 5
    assert server.post(encode(*lines)).status == 200


def test_prometheus_reads_collector_and_engines_with_the_config_it_was_given(scene: Scene) -> None:
    wait_until(lambda: {one["health"] for one in scene.prometheus.targets()} == {"up"})
    found = {one["labels"]["job"]: one["labels"] for one in scene.prometheus.targets()}
    assert set(found) == {"rl-insight", "tiny"}
    assert found["rl-insight"]["instance"] == f"127.0.0.1:{scene.server.port}"
    assert found["tiny"]["engine"] == scene.engine
    groups = scene.prometheus.api("rules")["groups"]
    assert [rule["name"] for group in groups for rule in group["rules"]] == [rule["alert"] for rule in RULES]
    # The collector tells of engines, too; Prometheus, which reads them itself, must not count them twice.
    twice = scene.prometheus.wait_query('count by (engine) (vllm:num_requests_running{engine!=""})')
    assert [(one["metric"]["engine"], one["value"][1]) for one in twice] == [(scene.engine, "1")]


@pytest.mark.timeout(600)
def test_every_panel_and_every_variable_has_something_to_show(scene: Scene) -> None:
    asked = [query for query in promql() if "ALERTS" not in query.text]
    asked += [
        Query(f"{name}: variable {one['name']}", _series_of(one["query"]["query"]), "prometheus")
        for name, dashboard in DASHBOARDS.items()
        for one in dashboard["templating"]["list"]
        if one["type"] == "query"
    ]
    empty = _wait_for_all(scene.prometheus, asked)
    assert not empty, "\n".join(f"{query.where}: {query.text}" for query in empty)


def test_engines_show_as_well_when_only_the_collector_reads_them(scene: Scene, tmp_path: Path) -> None:
    job = {
        "job_name": "rl-insight",
        "scrape_interval": "3s",
        "scrape_timeout": "3s",
        "authorization": {"credentials": TOKEN},
        "static_configs": [{"targets": [f"127.0.0.1:{scene.server.port}"]}],
    }
    with running_prometheus(tmp_path / "prometheus", {"scrape_configs": [job]}) as prometheus:
        asked = [query for query in promql() if query.where.startswith("engines.json")]
        empty = _wait_for_all(prometheus, asked)
        assert not empty, "\n".join(f"{query.where}: {query.text}" for query in empty)
        # It is told of once for each run that is live, and counts once.
        engines = next(query for query in asked if query.where == "engines.json: Engines A")
        assert prometheus.query(filled(engines.text))[0]["value"][1] == "1"


def test_every_alert_can_be_asked_and_finds_what_it_looks_at(scene: Scene) -> None:
    for query in alerts():
        scene.prometheus.query(query.text)  # an error of PromQL fails here
    looked_at = {name for query in alerts() for name in re.findall(r"\b(?:rl_insight_\w+|up)\b", query.text)}
    empty = _wait_for_all(scene.prometheus, [Query("alert", name, "prometheus") for name in sorted(looked_at)])
    assert not empty
    # Lines were lost a moment ago, so one of them fires; it is what the overview shows.
    fires = [query for query in promql() if "ALERTS" in query.text]
    assert fires
    for query in fires:
        wait_until(
            lambda query=query: any(
                one["metric"]["alertname"] == "RLInsightLostLines" for one in scene.prometheus.query(filled(query.text))
            )
        )


def _series_of(variable: str) -> str:
    selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable).groups()  # type: ignore[union-attr]
    return f"count by ({label}) ({selector})"


def _wait_for_all(prometheus: Prometheus, asked: list[Query]) -> list[Query]:
    """The queries that have no series, after waiting for each that had none yet."""
    deadline = time.monotonic() + 120
    while True:
        asked = [query for query in asked if not _series(prometheus, query)]
        if not asked or time.monotonic() > deadline:
            return asked
        time.sleep(0.5)


def _series(prometheus: Prometheus, query: Query) -> list[Any]:
    found = prometheus.query(filled(query.text, metric="rl_insight_monitor_loss"))
    # A quantile of nothing is no answer.
    return [one for one in found if one["value"][1] != "NaN"]
