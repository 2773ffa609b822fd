"""Scrape targets: registered, refused, listed, removed, read by the collector and by a real Prometheus."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine import answering, body, dead_address, dripping, running_engine
from harness import Answer, Server, command, encode, gauge_line, process_line, running_server, wait_until
from prometheus_server import running_prometheus

PATH = "/api/v1/prometheus/targets"
SCRAPE = {"interval": 0.2, "timeout": 1.0, "max_series": 50}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("targets") / "data", settings={"scrape": SCRAPE}) as server:
        yield server
        assert server.stop() == 0


def register(server: Server, **asked: Any) -> Answer:
    return server.request("POST", PATH, json.dumps(asked).encode())


def listed(server: Server) -> dict[str, dict[str, Any]]:
    return {one["target"]: one for one in server.request("GET", PATH).body["targets"]}


def live_run(server: Server, run: str, **more: Any) -> str:
    """A run whose one process has just been heard from, and will be for an hour."""
    proc, now = f"proc-of-{run}", time.time_ns()
    line = process_line(proc, run=run, ts=now, role="trainer", heartbeat=3600.0, **more)
    assert server.post(encode(line, gauge_line(proc, 2, ts=now))).status == 200
    return proc


def end_run(server: Server, run: str) -> None:
    line = process_line(f"proc-of-{run}", 3, run=run, ts=time.time_ns(), role="trainer", state="finished")
    assert server.post(encode(line)).status == 200


def points(server: Server, run: str, name: str) -> list[list[Any]]:
    return server.query(
        "SELECT kind, value, labels, ts FROM point WHERE run = $1 AND name = $2 ORDER BY ts, seq", [run, name]
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"targets": []},
        {"targets": "127.0.0.1:8000"},
        {"targets": ["127.0.0.1"]},
        {"targets": ["127.0.0.1:0"]},
        {"targets": ["127.0.0.1:99999"]},
        {"targets": ["0.0.0.0:8000"]},
        {"targets": ["300.1.1.1:80"]},
        {"targets": ["ftp://host:80"]},
        {"targets": ["user:secret@host:80"]},
        {"targets": ["host:80/\nX"]},
        {"targets": ["ho st:80"]},
        {"targets": [None]},
        {"targets": [{"labels": {}}]},
        {"targets": ["good:80", "bad"]},
        {"targets": ["good:80"], "labels": {"no-dash": "x"}},
        {"targets": ["good:80"], "labels": {"__address__": "elsewhere:80"}},
        {"targets": ["good:80"], "labels": [{}, {}]},
        {"targets": ["good:80"], "labels": {"a": {"b": 1}}},
        {"targets": ["good:80"], "job_name": "x" * 300},
        {"job_name": "nothing"},
        ["good:80"],
    ],
)
def test_a_bad_target_is_refused_with_the_reason_and_nothing_of_it_is_stored(server: Server, bad: Any) -> None:
    answer = server.request("POST", PATH, json.dumps(bad).encode())
    assert answer.status == 400
    assert answer.body["error"]
    assert not any(target.startswith(("good", "bad")) for target in listed(server))


def test_targets_are_listed_replaced_and_removed(server: Server) -> None:
    assert register(server, targets=["a.example:1", {"target": "b.example:2", "labels": {"x": 1}}]).status == 200
    assert register(server, targets=["a.example:1"], labels={"replica": 7}).status == 200
    found = listed(server)
    assert found["a.example:1"]["labels"] == {"replica": "7"}
    assert (found["b.example:2"]["labels"], found["b.example:2"]["job_name"]) == ({"x": "1"}, "rl_insight")
    assert server.request("DELETE", f"{PATH}?target=a.example:1").body["removed"] == ["a.example:1"]
    asked = json.dumps({"targets": ["b.example:2"], "job_name": "rl_insight"}).encode()
    assert server.request("DELETE", PATH, asked).status == 200
    assert server.request("DELETE", f"{PATH}?job_name=rl_insight").status == 404
    assert server.request("DELETE", PATH).status == 400
    assert not {"a.example:1", "b.example:2"} & set(listed(server))


def test_services_says_where_the_others_are(server: Server) -> None:
    asked = server.request("GET", "/api/v1/services").body
    assert asked == {"status": "ok", "otlp_port": server.port, "prometheus_port": None, "grafana_port": None}
    # As `rl-insight stack` writes it.
    running = [("prometheus", 9091, "ready"), ("tempo", 3200, "ready"), ("grafana", 3001, "failed")]
    services = [{"name": name, "url": f"http://127.0.0.1:{port}", "condition": how} for name, port, how in running]
    (server.data_dir / "stack").mkdir()
    (server.data_dir / "stack" / "state.json").write_text(json.dumps({"supervisor": {}, "services": services}))
    asked = server.request("GET", "/api/v1/services").body
    assert (asked["prometheus_port"], asked["grafana_port"]) == (9091, None)


def test_targets_survive_a_killed_server_and_a_file_somebody_put_there_counts(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "targets"
    folder.mkdir(parents=True)
    (folder / "theirs.json").write_text('[{"targets": ["theirs.example:1"], "labels": {"zone": "b"}}]')
    (folder / "broken.json").write_text("{nonsense")
    with running_server(tmp_path / "data", settings={"scrape": {"enabled": False}}) as server:
        nasty = "../ev il/ü"
        register(server, targets=["https://one.example:1/deep/metrics"], job_name=nasty, labels={"k": "v"}, run="r")
        server.kill()
        server.start()
        found = listed(server)
        assert {name: one["job_name"] for name, one in found.items()} == {
            "theirs.example:1": "theirs",
            "one.example:1": nasty,
        }
        assert found["one.example:1"]["url"] == "https://one.example:1/deep/metrics"
        assert (found["one.example:1"]["state"], found["one.example:1"]["registered_run"]) == ("off", "r")
        assert all(path.parent == folder for path in tmp_path.rglob("*.json") if path.name != "server.json")


def test_an_engine_is_recorded_with_its_run_and_counters_survive_its_restart(server: Server) -> None:
    live_run(server, "with-engine", project="math", experiment="grpo")
    with running_engine() as engine:
        engine.running.set(3)
        engine.tokens.inc(1000)  # before we first looked: whose they are nobody knows
        register(server, targets=[engine.address], job_name="vllm", labels=[{"replica": 0}], run="with-engine")
        wait_until(lambda: listed(server)[engine.address]["state"] == "up")
        engine.tokens.inc(40)
        engine.first.observe(0.3)
        wait_until(lambda: sum(row[1] for row in points(server, "with-engine", "vllm:generation_tokens_total")) >= 40)
        engine.restart()
        engine.tokens.inc(2)
        engine.running.set(1)
        wait_until(lambda: sum(row[1] for row in points(server, "with-engine", "vllm:generation_tokens_total")) >= 42)
        wait_until(lambda: points(server, "with-engine", "vllm:num_requests_running")[-1][1] == 1)
        gauges = points(server, "with-engine", "vllm:num_requests_running")
        assert {row[0] for row in gauges} == {"gauge"}
        assert gauges[0][1] == 3
        assert json.loads(gauges[0][2]) == {
            "model_name": "tiny",
            "exported_engine": "0",
            "engine": engine.address,
            "job": "vllm",
            "replica": "0",
        }
        counts = points(server, "with-engine", "vllm:generation_tokens_total")
        assert {row[0] for row in counts} == {"count"}
        assert sum(row[1] for row in counts) == 42
        buckets = points(server, "with-engine", "vllm:time_to_first_token_seconds_bucket")
        assert sum(row[1] for row in buckets) == 3
        assert {json.loads(row[2])["le"] for row in buckets if row[1]} == {"0.5", "1.0", "+Inf"}
        assert "0.1" in {json.loads(row[2])["le"] for row in buckets}
        assert not points(server, "with-engine", "process_noise")
        state = listed(server)[engine.address]
        assert (state["run"], state["last_error"], state["skipped_series"]) == ("with-engine", None, 0)
        (who,) = server.query(
            "SELECT role, project, experiment, state FROM process WHERE run = 'with-engine' AND role = 'engine'"
        )
        assert who == ["engine", "math", "grpo", "running"]
        # The page offers them by their names, and what the lines say has no hole.
        names = server.request("GET", "/api/v1/runs/with-engine/metrics").body["metrics"]
        kinds = {one["name"]: one["kind"] for one in names if one["name"].startswith("vllm:")}
        assert kinds == {
            "vllm:kv_cache_usage_perc": "gauge",
            "vllm:num_requests_running": "gauge",
            "vllm:generation_tokens_total": "count",
            "vllm:time_to_first_token_seconds": "histogram",
        }
        course = server.request("GET", "/api/v1/runs/with-engine/metrics/vllm:time_to_first_token_seconds").body
        assert (course["kind"], course["by"]) == ("histogram", "time")
        (series,) = course["series"]
        # One observation, of 0.3, in the bucket from 0.1 to 0.5: no more is known of it.
        assert [value for value in series["values"] if value is not None] == [pytest.approx(0.3)]
        assert sum(series["n"]) == 1
        assert not server.query("SELECT * FROM hole")
        end_run(server, "with-engine")
        # A run that is over is over: the collector does not keep it alive.
        wait_until(
            lambda: (
                server.query("SELECT DISTINCT state FROM process WHERE run = 'with-engine'") == [["finished"]]
                and listed(server)[engine.address]["state"] == "waiting"
            )
        )
    server.request("DELETE", f"{PATH}?run=with-engine")


def test_a_target_without_a_run_belongs_to_the_newest_that_goes_on(server: Server) -> None:
    live_run(server, "older")
    server.wait_stored()
    live_run(server, "newer")
    server.wait_stored()
    with running_engine() as engine:
        register(server, targets=[engine.address])
        wait_until(lambda: points(server, "newer", "vllm:num_requests_running"))
        assert listed(server)[engine.address]["run"] == "newer"
        assert not points(server, "older", "vllm:num_requests_running")
        server.request("DELETE", f"{PATH}?target={engine.address}")
    for run in ("older", "newer"):
        end_run(server, run)


def test_bad_targets_do_not_stop_the_others_and_say_what_is_wrong(server: Server) -> None:
    live_run(server, "rough")
    many = "".join(f"metric_{number} 1\n" for number in range(80)).encode()
    wrong = {"html": body(b"<html>hello</html>"), "missing": body(b"", 404), "empty": body(b""), "drip": dripping}
    wrong |= {"huge": body(b"x" * (9 * 2**20)), "binary": body(b"\xff\xfe\x00")}
    with running_engine() as engine, answering(body(many)) as wide:
        stack = [answering(answer) for answer in wrong.values()]
        addresses = dict(zip(wrong, [one.__enter__() for one in stack], strict=True)) | {"dead": dead_address()}
        register(server, targets=[*addresses.values(), engine.address, wide], run="rough")
        wait_until(lambda: all(listed(server)[one]["state"] == "down" for one in addresses.values()))
        before = listed(server)[engine.address]["scrapes"]
        wait_until(lambda: listed(server)[engine.address]["scrapes"] > before + 3)
        found = listed(server)
        said = {name: found[address]["last_error"] for name, address in addresses.items()}
        assert "not the text of metrics" in said["html"]
        assert "404" in said["missing"]
        assert "another path" in said["missing"]
        assert "empty" in said["empty"]
        assert "within 1 s" in said["drip"]
        assert "max_bytes" in said["huge"]
        assert "not text" in said["binary"]
        assert "refused" in said["dead"].lower()
        assert found[addresses["html"]]["bad_bodies"] > 0
        assert found[addresses["dead"]]["bad_bodies"] == 0
        assert (found[wide]["series"], found[wide]["skipped_series"]) == (50, 30)
        assert server.request("GET", "/healthz").status == 200
        server.request("DELETE", f"{PATH}?run=rough")
        wait_until(lambda: not listed(server))
        for one in stack:
            one.__exit__(None, None, None)
    end_run(server, "rough")


def test_deleting_a_run_forgets_its_targets_and_nothing_is_written_of_it_again(server: Server) -> None:
    proc = live_run(server, "doomed")
    with running_engine() as engine:
        register(server, targets=[engine.address], run="doomed")
        wait_until(lambda: points(server, "doomed", "vllm:num_requests_running"))
        server.wait_stored()
        assert server.request("DELETE", "/api/v1/runs/doomed").status == 200
        assert engine.address not in listed(server)
        live_run(server, "after")
        server.wait_stored()
        assert server.query("SELECT count(*) FROM point WHERE run = 'doomed'") == [[0]]
        assert server.query("SELECT count(*) FROM process WHERE run = 'doomed'") == [[0]], proc
    end_run(server, "after")


def test_a_killed_server_leaves_no_scraper_behind_that_makes_its_run_look_lost(tmp_path: Path) -> None:
    old = time.time_ns() - 60 * 10**9
    lines = [
        process_line("trainer", run="r", ts=old, role="trainer"),
        process_line("trainer", 2, run="r", ts=old, role="trainer", state="finished"),
        {**process_line("ours", run="r", ts=old, role="engine", heartbeat=5.0), "name": "scraper"},
        gauge_line("ours", 2, ts=old),
    ]
    with running_server(tmp_path / "data") as server:
        assert server.post(encode(*lines)).status == 200
        server.wait_stored()
        server.kill()
        server.start()
        wait_until(lambda: [run["state"] for run in server.request("GET", "/api/v1/runs").body["runs"]] == ["finished"])
        # And it ended when it was last heard from, not now.
        assert server.query("SELECT max(last_ts) < $1 FROM process", [time.time_ns() - 30 * 10**9]) == [[True]]


def test_a_real_prometheus_reads_the_targets_as_they_come_and_go(server: Server, tmp_path: Path) -> None:
    folder = Path(server.request("GET", PATH).body["folder"])
    sd = {"files": [str(folder / "*.json")], "refresh_interval": "1s"}
    config = {"scrape_configs": [{"job_name": "rl-insight", "file_sd_configs": [sd]}]}
    with running_engine() as engine, running_prometheus(tmp_path / "prometheus", config) as prometheus:
        engine.running.set(5)
        register(server, targets=[engine.address], job_name="vllm", labels={"replica": 3}, run="some-run")
        # A Prometheus asks for OpenMetrics, in which prometheus_client writes the colon as an underscore.
        (found,) = prometheus.wait_query('{__name__=~"vllm.num_requests_running"}')
        assert found["value"][1] == "5"
        labels = found["metric"]
        assert (labels["job"], labels["run"], labels["replica"]) == ("vllm", "some-run", "3")
        assert (labels["engine"], labels["exported_engine"]) == (engine.address, "0")
        server.request("DELETE", f"{PATH}?job_name=vllm")
        wait_until(lambda: not prometheus.targets())


def test_the_command_line_adds_lists_and_removes(server: Server, tmp_path: Path) -> None:
    data = ["--data-dir", str(server.data_dir)]
    (tmp_path / "sd.json").write_text('[{"targets": ["one.example:1"], "labels": {"job": "sglang", "a": "b"}}]')
    (tmp_path / "plain.yaml").write_text("- two.example:2\n- {target: three.example:3, labels: {c: d}}\n")
    files = [str(tmp_path / "sd.json"), str(tmp_path / "plain.yaml")]
    done = command("targets", "add", *files, "http://four.example:4/m", "--label", "x=1", *data)
    assert done.returncode == 0, done.stderr
    found = listed(server)
    assert found["one.example:1"]["labels"] == {"a": "b", "x": "1"}
    assert found["one.example:1"]["job_name"] == "sglang"
    assert found["three.example:3"]["labels"] == {"c": "d", "x": "1"}
    assert found["four.example:4"]["url"] == "http://four.example:4/m"
    shown = command("targets", "list", *data).stdout
    assert all(name in shown for name in ("one.example:1", "sglang", "x=1"))
    assert command("targets", "remove", "one.example:1", "two.example:2", *data).returncode == 0
    assert command("targets", "remove", "--job", "rl_insight", *data).returncode == 0
    assert not listed(server)
    refused = command("targets", "add", "nowhere", *data)
    assert (refused.returncode, "host:port" in refused.stderr) == (1, True)
    assert "'rl-insight targets list'" in command("targets", "remove", "nobody:1", *data).stderr
