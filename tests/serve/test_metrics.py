"""`GET /metrics`: who may ask, in which format it answers, and what it reports elsewhere."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from exposed import OPENMETRICS, Exposed, parsed, scrape
from harness import Server, command, encode, process_line, running_server
from prometheus_server import running_prometheus
from rl_insight import config
from rl_insight.serve.service import FolderService

TOKEN = "not-a-secret-1"
DOCS = Path(__file__).parent.parent.parent / "docs" / "prometheus.md"


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


def test_a_prometheus_set_up_as_the_docs_say_reads_the_token_from_the_data_folder(
    server: Server, tmp_path: Path
) -> None:
    plain, guarded = re.findall(r"```yaml\n(scrape_configs:.*?)```", DOCS.read_text(), re.DOTALL)
    assert yaml.safe_load(plain)["scrape_configs"][0]["static_configs"] == [{"targets": ["127.0.0.1:18080"]}]
    guarded = guarded.replace("/data/rl-insight/token", str(server.data_dir / "token"))
    guarded = guarded.replace("head-node:18080", f"127.0.0.1:{server.port}").replace("5s", "200ms")
    with running_prometheus(tmp_path, yaml.safe_load(guarded)) as prometheus:
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


def test_files_that_are_shown_have_metrics_too(tmp_path: Path) -> None:
    folder, now = tmp_path / "lines", time.time_ns()
    folder.mkdir()
    point = {"kind": "count", "name": "n", "proc": "p", "seq": 2, "ts": now, "value": 3}
    (folder / "lines-p.jsonl").write_bytes(encode(process_line("p", run="files", ts=now), point))
    service = FolderService.open(folder, tmp_path / "data")
    try:
        service.files.catch_up()
        answer = service.metrics.answer()
        assert parsed(answer.body, answer.content_type).value("rl_insight_monitor_n_total", run="files") == 3
    finally:
        service.close()


def test_a_bad_setting_stops_the_server_with_what_to_write_instead(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("collector: {prometheus: {buckets: {step_ms: [2, 1]}}}")
    failed = command("server", "start", "--data-dir", str(tmp_path / "data"), "--port", "0", "--config", str(path))
    assert failed.returncode != 0
    assert "collector.prometheus.buckets.step_ms: give finite upper bounds in rising order" in failed.stderr
    with pytest.raises(config.ConfigError, match=r"setting collector\.prometheus\.namespace"):
        config.load({"collector": {"prometheus": {"namespace": "a-b"}}}, {})
