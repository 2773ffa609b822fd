"""`update_prometheus_config` in both its forms: tell the server, or edit a Prometheus' config and reload it."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

import rl_insight
from engine import running_engine
from harness import Server, running_server
from prometheus_server import free_port, running_prometheus
from recorded import clean_environment, run_python
from rl_insight.adapters.prometheus_file import BadConfig, with_targets

TARGETS = "/api/v1/prometheus/targets"
COMMENTED = """\
# ours, do not lose
global: {scrape_interval: 200ms}   # fast
rule_files: []
scrape_configs:
  - job_name: other      # stays
    static_configs:
      - targets: ['elsewhere:1']
  # about the engines
  - job_name: 'vllm'
    metrics_path: /metrics
    static_configs:
      - targets:
          - old:1
          - old:2
        labels: {a: b}
    # a last word
  - job_name: third
    file_sd_configs: [{files: [x.json]}]
# the end
"""


def test_editing_changes_the_targets_of_a_job_and_no_other_line() -> None:
    text = with_targets(COMMENTED, "vllm", ["new:1", "new:2"])
    assert yaml.safe_load(text)["scrape_configs"][1] == {
        "job_name": "vllm",
        "metrics_path": "/metrics",
        "static_configs": [{"targets": ["new:1", "new:2"]}],
    }
    gone = {"      - targets:", "          - old:1", "          - old:2", "        labels: {a: b}"}
    assert set(COMMENTED.splitlines()) - set(text.splitlines()) == gone
    assert with_targets(text, "vllm", ["new:1", "new:2"]) == text


def test_a_new_job_is_added_with_all_comments_kept() -> None:
    for text in (COMMENTED, "# only this\n", "", "global: {}\n", "scrape_configs:\n- job_name: a\n", "scrape_configs:"):
        made = with_targets(text, "engines", ["e:1"])
        assert yaml.safe_load(made)["scrape_configs"][-1] == {
            "job_name": "engines",
            "static_configs": [{"targets": ["e:1"]}],
        }
        assert all(line.split("#")[-1] in made for line in text.splitlines() if "#" in line)


JOBS = st.lists(
    st.fixed_dictionaries(
        {"job_name": st.sampled_from(["a", "b", "c d", "ü:#"])},
        optional={"static_configs": st.just([{"targets": ["x:1"]}]), "scheme": st.just("https")},
    ),
    max_size=3,
    unique_by=lambda one: one["job_name"],
)


@given(jobs=JOBS, job=st.sampled_from(["a", "c d", "new"]), flow=st.sampled_from([None, True, False]))
def test_whatever_the_style_of_the_file_only_the_targets_change(jobs: list[Any], job: str, flow: bool | None) -> None:
    before = {"global": {"scrape_interval": "5s"}, "scrape_configs": jobs, "z": 1}
    after = yaml.safe_load(with_targets(yaml.safe_dump(before, default_flow_style=flow), job, ["t:1"]))
    assert {key: after[key] for key in ("global", "z")} == {"global": {"scrape_interval": "5s"}, "z": 1}
    (mine,) = [one for one in after["scrape_configs"] if one["job_name"] == job]
    assert mine["static_configs"] == [{"targets": ["t:1"]}]
    assert [one for one in after["scrape_configs"] if one["job_name"] != job] == [
        one for one in jobs if one["job_name"] != job
    ]


@pytest.mark.parametrize("text", ["[1, 2]", "scrape_configs: 3", "a: [", "\t:"])
def test_a_file_that_is_no_config_is_left_alone(text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(BadConfig):
        with_targets(text, "a", ["b:1"])
    (tmp_path / "p.yml").write_text(text)
    assert rl_insight.update_prometheus_config(_conf(tmp_path / "p.yml", 1, "none"), ["b:1"]) is False
    assert (tmp_path / "p.yml").read_text() == text
    assert "p.yml" in caplog.text


def _conf(file: Path, port: int, mode: str) -> dict[str, Any]:
    return {"prometheus": {"config_file": str(file), "prometheus_port": port, "reload": {"mode": mode}}}


def test_a_real_prometheus_reads_the_edited_config(tmp_path: Path) -> None:
    with running_engine() as engine, running_prometheus(tmp_path / "prometheus") as prometheus:
        prometheus.config_file.write_text(COMMENTED.replace("'elsewhere:1'", ""))
        prometheus.config_file.chmod(0o640)
        conf = OmegaConf.create(_conf(prometheus.config_file, prometheus.port, "http"))
        assert rl_insight.update_prometheus_config(conf, [engine.address], job_name="vllm") is True
        (found,) = prometheus.wait_query('{__name__=~"vllm.num_requests_running"}')
        assert (found["metric"]["job"], found["metric"]["instance"]) == ("vllm", engine.address)
        assert "# about the engines" in prometheus.config_file.read_text()
        assert prometheus.config_file.stat().st_mode & 0o777 == 0o640
        assert [path.name for path in prometheus.folder.glob(".prometheus*")] == []


def test_what_keeps_a_prometheus_from_reloading_is_told_with_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "rl_insight")
    file = tmp_path / "prometheus.yml"
    unreachable = _conf(file, free_port(), "http")
    assert rl_insight.update_prometheus_config(conf=unreachable, server_addresses=["a:1"], job_name="x") is False
    assert "no Prometheus answers" in caplog.text
    assert "prometheus_port" in caplog.text
    assert "a:1" in file.read_text()
    caplog.clear()
    with running_prometheus(tmp_path / "closed", lifecycle=False) as prometheus:
        conf = _conf(prometheus.config_file, prometheus.port, "http")
        assert rl_insight.update_prometheus_config(conf, ["a:1"]) is False
        assert "--web.enable-lifecycle" in caplog.text
        # An argument says more than the config.
        assert rl_insight.update_prometheus_config(conf, ["b:1"], "mine", "none") is True
    caplog.clear()
    for wrong in ({"reload_mode": "carrier pigeon"}, {"server_addresses": "a:1"}, {"server_addresses": []}):
        assert (
            rl_insight.update_prometheus_config(**{"conf": unreachable, "server_addresses": ["a:1"], **wrong}) is False
        )
    assert rl_insight.update_prometheus_config({}, ["a:1"]) is False
    assert all(said in caplog.text for said in ("carrier pigeon", "host:port", "is empty", "config_file"))
    with pytest.raises(TypeError, match="adresses"):
        rl_insight.update_prometheus_config(adresses=["a:1"])  # type: ignore[call-overload]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("targets") / "data", settings={"scrape": {"enabled": False}}) as server:
        yield server


def _registered(server: Server) -> dict[str, tuple[str, dict[str, str], str | None]]:
    found = server.request("GET", TARGETS).body["targets"]
    return {one["target"]: (one["job_name"], one["labels"], one["registered_run"]) for one in found}


def test_engines_are_registered_with_the_server_under_the_run_in_every_way_to_call_it(
    server: Server, tmp_path: Path
) -> None:
    code = """
    import rl_insight
    update = rl_insight.update_prometheus_config
    # verl does this before anything is recorded, when only init will know the run.
    print(update(["early.example:1"], "vllm", [{"replica": 0}]))
    rl_insight.init(run="the-run")
    print(update(["a.example:1", "b.example:2"], "vllm", [{"replica": 0}, None]))
    print(update(server_addresses=("c.example:3",), labels={"x": 1}))
    print(update(["d.example:4"]))
    print(update(["not an address"], "vllm"))
    assert rl_insight.status().problems["bad_target"] == 1
    import time
    from rl_insight.ship import targets
    while targets._waiting:
        time.sleep(0.01)
    rl_insight.close()
    """
    said = run_python(code, tmp_path, RL_INSIGHT_SERVER_URL=server.url)
    assert said.split() == ["True", "True", "True", "True", "False"]
    assert _registered(server) == {
        "early.example:1": ("vllm", {"replica": "0"}, "the-run"),
        "a.example:1": ("vllm", {"replica": "0"}, "the-run"),
        "b.example:2": ("vllm", {}, "the-run"),
        "c.example:3": ("rl_insight", {"x": "1"}, "the-run"),
        "d.example:4": ("rl_insight", {}, "the-run"),
    }
    assert server.request("DELETE", f"{TARGETS}?run=the-run").status == 200


def test_engines_registered_before_anybody_knows_the_server_are_told_once_it_is_known(
    server: Server, tmp_path: Path
) -> None:
    code = """
    import sys, time, rl_insight
    print(rl_insight.update_prometheus_config(["early.example:1"], "sglang", [{"replica": 1}]))
    rl_insight.init(project="p", experiment_name="e", config={"server": {"url": sys.argv[1]}}, run="told-later")
    from rl_insight.ship import targets
    while targets._waiting:
        time.sleep(0.01)
    rl_insight.finish()
    """
    assert run_python(code, tmp_path, server.url).split() == ["False"]
    assert _registered(server)["early.example:1"] == ("sglang", {"replica": "1"}, "told-later")
    server.request("DELETE", f"{TARGETS}?run=told-later")


def test_a_server_that_is_away_hears_of_the_engines_when_it_is_back(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    server.stop()
    code = """
    import sys, time, rl_insight
    rl_insight.init(run="patient")
    print(rl_insight.update_prometheus_config(["e.example:1"]), flush=True)
    sys.stdin.readline()
    from rl_insight.ship import targets
    while targets._waiting:
        time.sleep(0.01)
    rl_insight.close()
    """
    environment = clean_environment(tmp_path, RL_INSIGHT_SERVER_URL=server.url)
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "False"
        server.start()
        process.stdin.write("\n")
        process.stdin.close()
        assert process.wait(60) == 0
    found = server.request("GET", TARGETS).body["targets"]
    assert [(one["target"], one["registered_run"]) for one in found] == [("e.example:1", "patient")]
    server.kill()


def test_nothing_of_it_is_loaded_by_those_who_do_not_use_it(tmp_path: Path) -> None:
    code = """
    import sys, rl_insight
    assert "update_prometheus_config" in rl_insight.__all__
    print([name for name in ("yaml", "http.client", "rl_insight.adapters.prometheus") if name in sys.modules])
    """
    assert json.loads(run_python(code, tmp_path)) == []
