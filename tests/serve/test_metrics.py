"""`GET /metrics`: who may ask, in which format it answers, and what it reports elsewhere."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exposed import OPENMETRICS, Exposed, parsed, scrape
from harness import Server, command, encode, process_line, running_server
from prometheus_server import running_prometheus

TOKEN = "not-a-secret-1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"token": TOKEN, "prometheus": {"max_series": 2, "namespace": "mine"}}
    with running_server(tmp_path_factory.mktemp("metrics") / "data", settings=settings) as server:
        server.token = TOKEN
        now = time.time_ns()
        lines = [process_line("p", run="here", ts=now, role="trainer", heartbeat=3600.0)]
        for seq in range(2, 7):
            point = {"proc": "p", "seq": seq, "ts": now, "value": seq, "labels": {"id": str(seq)}}
            lines.append({"kind": "count", "name": "n", **point})
        lines.append({"kind": "gauge", "name": "n", "proc": "p", "seq": 7, "ts": now, "value": 1})
        assert server.post(encode(*lines)).status == 200
        server.wait_stored()
        yield server
        assert server.stop() == 0


def page(server: Server, accept: str = OPENMETRICS) -> Exposed:
    return scrape(server, accept, Authorization=f"Bearer {TOKEN}").page


def test_the_token_opens_it_as_it_does_everything(server: Server) -> None:
    refused = scrape(server)
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert "a token is needed" in json.loads(refused.body)["error"]
    assert scrape(server, Authorization="Bearer wrong-token").status == 401
    assert page(server).value("mine_n_gauge", run="here") == 1


def test_a_prometheus_reads_the_token_from_the_data_folder(server: Server, tmp_path: Path) -> None:
    job = {
        "job_name": "rl_insight",
        "authorization": {"credentials_file": str(server.data_dir / "token")},
        "static_configs": [{"targets": [f"127.0.0.1:{server.port}"]}],
    }
    with running_prometheus(tmp_path, {"scrape_configs": [job]}) as prometheus:
        (found,) = prometheus.wait_query("rl_insight_run_info")
        assert found["metric"]["run"] == "here"
        (accepted,) = prometheus.query("rl_insight_collector_accepted_lines_total")
        assert accepted["value"][1] == "7"


def test_the_format_is_the_one_asked_for(server: Server) -> None:
    token = {"Authorization": f"Bearer {TOKEN}"}
    opened = scrape(server, OPENMETRICS, **token)
    assert opened.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    plain = scrape(server, "text/plain;version=0.0.4", **token)
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert opened.page.series("mine_n_total") == plain.page.series("mine_n_total")
    packed = scrape(server, OPENMETRICS, **token, **{"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert parsed(gzip.decompress(packed.body), packed.headers["content-type"]).value("mine_n_gauge") == 1


def test_what_is_folded_or_renamed_is_told_by_health(server: Server) -> None:
    assert page(server).value("mine_n_total", id="other") == 4 + 5 + 6
    told = server.request("GET", "/api/v1/health").body["prometheus"]
    assert told == {
        "folded": [{"run": "here", "metric": "mine_n_total", "series": 3}],
        "renamed": [{"recorded": "n", "kind": "gauge", "metric": "mine_n_gauge"}],
    }


def test_a_bad_setting_stops_the_server_with_what_to_write_instead(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("collector: {prometheus: {buckets: {step_ms: [2, 1]}}}")
    failed = command("server", "start", "--data-dir", str(tmp_path / "data"), "--port", "0", "--config", str(path))
    assert failed.returncode != 0
    assert "collector.prometheus.buckets.step_ms: give finite upper bounds in rising order" in failed.stderr
    path.write_text("collector: {prometheus: {namespace: 'a-b'}}")
    failed = command("server", "start", "--data-dir", str(tmp_path / "data"), "--port", "0", "--config", str(path))
    assert failed.returncode != 0
    assert "setting collector.prometheus.namespace" in failed.stderr
