"""The configs that are written: loopback only, nothing anonymous, secrets kept, and keys that the programs know."""

import configparser
import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from rl_insight.serve import address
from rl_insight.stack import configs
from rl_insight.stack.plan import Plan, Ports, read, write
from rl_insight.stack.programs import Program
from stack_services import promtool

# From Tempo's documents, "Manifest" and the examples, for the version before and since the ingesters went.
TEMPO = {
    2: {
        "server": {"http_listen_address", "http_listen_port", "grpc_listen_address", "grpc_listen_port", "log_level"},
        "distributor": {"receivers"},
        "compactor": {"compaction"},
        "storage": {"trace"},
        "usage_report": {"reporting_enabled"},
    },
    3: {
        "server": {"http_listen_address", "http_listen_port", "grpc_listen_address", "grpc_listen_port", "log_level"},
        "distributor": {"receivers"},
        "backend_scheduler": {"provider"},
        "backend_worker": {"compaction"},
        "storage": {"trace"},
        "usage_report": {"reporting_enabled"},
    },
}


def made(folder: Path, *names: str, tempo: int = 2) -> Plan:
    programs = [Program(name, Path(f"/opt/{name}/bin/{name}"), Path(f"/opt/{name}")) for name in names]
    ports = Ports(prometheus=9090, tempo=3200, tempo_otlp=4320, tempo_grpc=9095, grafana=3000)
    return Plan(folder, folder / "targets", programs, ports, "127.0.0.1", 18080, 5.0, 15.0, tempo)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    plan = made(tmp_path, "prometheus", "tempo", "grafana")
    plan.alertmanagers = ["127.0.0.1:9093"]
    configs.write(plan)
    return plan


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def ini(plan: Plan) -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None)
    found.read(plan.folder / "grafana" / "grafana.ini")
    return found


def test_a_plan_travels_as_a_file(plan: Plan) -> None:
    write(plan.folder / "plan.json", plan)
    assert read(plan.folder / "plan.json") == plan


def test_prometheus_takes_its_config(plan: Plan) -> None:
    done = promtool("check", "config", str(plan.folder / "prometheus" / "prometheus.yaml"))
    assert done.returncode == 0, done.stderr
    assert "1 rule files found" in done.stdout
    told = loaded(plan.folder / "prometheus" / "prometheus.yaml")["alerting"]["alertmanagers"]
    assert told == [{"static_configs": [{"targets": ["127.0.0.1:9093"]}]}]


def test_prometheus_follows_the_collector_and_shows_its_token(plan: Plan) -> None:
    def job() -> dict[str, Any]:
        found: dict[str, Any] = loaded(plan.folder / "prometheus" / "prometheus.yaml")["scrape_configs"][0]
        return found

    assert job()["static_configs"] == [{"targets": ["127.0.0.1:18080"]}]
    assert "authorization" not in job()
    assert not configs.write_prometheus(plan)
    (plan.data_dir / "token").write_text("secret-token")
    moved = address.Address(1, "http://vm:18099", "0.0.0.0", 18099, "0", 0, token=True)
    address.write(plan.data_dir, moved)
    assert configs.write_prometheus(plan)
    assert job()["static_configs"] == [{"targets": ["127.0.0.1:18099"]}]
    assert job()["authorization"] == {"type": "Bearer", "credentials_file": str(plan.data_dir / "token")}
    assert "secret-token" not in (plan.folder / "prometheus" / "prometheus.yaml").read_text()


def test_everything_listens_on_loopback_only(plan: Plan) -> None:
    prometheus, tempo, grafana = (configs.command(plan, program) for program in plan.services)
    assert "--web.listen-address=127.0.0.1:9090" in prometheus
    assert not any("enable-lifecycle" in word or "admin-api" in word for word in prometheus)
    assert tempo[0] == "/opt/tempo/bin/tempo"
    assert grafana[1:3] == ["server", "--homepath=/opt/grafana"]
    settings = loaded(plan.folder / "tempo" / "tempo.yaml")
    assert settings["server"]["http_listen_address"] == settings["server"]["grpc_listen_address"] == "127.0.0.1"
    assert settings["distributor"]["receivers"] == {"otlp": {"protocols": {"http": {"endpoint": "127.0.0.1:4320"}}}}
    assert ini(plan)["server"]["http_addr"] == "127.0.0.1"


@pytest.mark.parametrize("major", [2, 3])
def test_tempo_is_told_only_what_its_version_knows(tmp_path: Path, major: int) -> None:
    config = configs.tempo(made(tmp_path, "tempo", tempo=major))
    assert {section: set(values) for section, values in config.items()} == TEMPO[major]
    assert config["storage"]["trace"].keys() == {"backend", "wal", "local"}
    assert '"block_retention": "360h"' in json.dumps(config)


def test_grafana_has_a_password_of_its_own_and_lets_nobody_in_without(plan: Plan) -> None:
    settings = ini(plan)
    assert settings["auth.anonymous"]["enabled"] == "false"
    assert settings["users"]["allow_sign_up"] == "false"
    for name, key in (("admin-password", "admin_password"), ("secret-key", "secret_key")):
        path = plan.folder / "grafana" / name
        assert settings["security"][key] == f"$__file{{{path}}}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert len(path.read_text()) >= 32
    before = configs.password_file(plan).read_text()
    configs.write(plan)
    assert configs.password_file(plan).read_text() == before
    assert stat.S_IMODE((plan.folder).stat().st_mode) == 0o700
    assert stat.S_IMODE((plan.folder / "grafana" / "grafana.ini").stat().st_mode) == 0o600


def test_grafana_is_given_the_dashboards_and_only_sources_that_run(plan: Plan, tmp_path: Path) -> None:
    home = plan.folder / "grafana"
    provider = loaded(home / "provisioning" / "dashboards" / "rl-insight.yaml")["providers"][0]
    assert len(list(Path(provider["options"]["path"]).glob("rl-insight-*.json"))) == 6
    assert Path(ini(plan)["dashboards"]["default_home_dashboard_path"]).is_file()
    sources = loaded(home / "provisioning" / "datasources" / "rl-insight.yaml")["datasources"]
    assert {one["type"]: one["url"] for one in sources} == {
        "prometheus": "http://127.0.0.1:9090",
        "tempo": "http://127.0.0.1:3200",
    }
    alone = configs.datasources(made(tmp_path, "prometheus", "grafana"))["datasources"]
    assert [one["type"] for one in alone] == ["prometheus"]
