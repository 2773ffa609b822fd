"""deploy/compose.yaml: pinned, without secrets of its own, made of files that are there, and as `rl-insight stack` is.

No Docker engine runs here. Where a client with compose is installed it checks the file; the rest is checked anyway.
"""

import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rl_insight import config
from rl_insight.stack import configs
from rl_insight.stack.plan import Plan, Ports
from rl_insight.version import __version__

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
MADE = {"secrets/token", "secrets/grafana-password"}
# What the Compose specification allows of a service, as far as it is used here.
KEYS = {"build", "command", "depends_on", "environment", "image", "ports", "restart", "stop_grace_period", "user"}
KEYS |= {"volumes"}


def mounts(service: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Source, target, and whether it is read-only."""
    found = []
    for one in service.get("volumes", []):
        if isinstance(one, dict):
            assert one["type"] == "bind"
            assert one["bind"] == {"create_host_path": False}, "Docker would make a folder of a secret that is missing"
            found.append((one["source"], one["target"], one["read_only"]))
        else:
            source, target, *mode = one.split(":")
            found.append((source, target, mode == ["ro"]))
    return found


def test_it_has_the_keys_that_compose_knows() -> None:
    assert set(COMPOSE) == {"name", "services", "volumes"}
    assert set(SERVICES) == {"rl-insight", "prometheus", "tempo", "grafana"}
    for service in SERVICES.values():
        assert set(service) <= KEYS
        assert set(service.get("depends_on", [])) <= set(SERVICES)


def test_a_client_with_compose_accepts_it() -> None:
    client = next(filter(_is_current, (["docker", "compose"], ["docker-compose"])), None)
    if client is None:
        pytest.skip("COMPOSE ITSELF HAS NOT CHECKED deploy/compose.yaml: its client, version 2 or later, is not here")
    done = subprocess.run(
        [*client, "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_image_is_pinned() -> None:
    images = {name: service["image"] for name, service in SERVICES.items()}
    assert images.pop("rl-insight") == f"rl-insight:{__version__.partition('.dev')[0]}"
    for image in images.values():
        assert re.fullmatch(r"[a-z]+/[a-z]+:v?\d+\.\d+\.\d+", image)
    major = int(images["tempo"].partition(":")[2].partition(".")[0])
    assert ("compactor" in yaml.safe_load((DEPLOY / "tempo.yaml").read_text())) == (major < 3)


def test_every_mounted_file_is_in_the_repository() -> None:
    volumes = set(COMPOSE["volumes"])
    for service in SERVICES.values():
        for source, target, read_only in mounts(service):
            assert target.startswith("/")
            if not source.startswith("."):
                assert source in volumes
                continue
            assert read_only
            if str(Path(source)) not in MADE:
                assert (DEPLOY / source).exists(), source
    build = SERVICES["rl-insight"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE):
        for name in copied.split():
            assert (ROOT / name).exists(), name


def test_only_the_collector_is_reached_from_elsewhere_and_it_has_a_token() -> None:
    for name, service in SERVICES.items():
        for port in service["ports"]:
            assert port.startswith("127.0.0.1:") or (name, port) == ("rl-insight", "18080:18080")
    assert ("./secrets/token", "/data/token", True) in mounts(SERVICES["rl-insight"])
    settings = config.load(DEPLOY / "collector.yaml", environ={}).collector
    assert (settings.host, settings.data_dir, settings.targets_dir) == ("0.0.0.0", "/data", "/targets")
    assert [one.endpoint for one in settings.otlp_export] == ["http://tempo:4318"]


def test_no_secret_has_a_default() -> None:
    text = "\n".join(path.read_text() for path in DEPLOY.rglob("*") if path.is_file() and "secrets/" not in str(path))
    assert ":-" not in re.sub(r"\$\{\d\}:", "", text)
    environment = SERVICES["grafana"]["environment"]
    assert "GF_SECURITY_ADMIN_PASSWORD" not in environment
    assert environment["GF_SECURITY_ADMIN_PASSWORD__FILE"] == "/etc/rl-insight/grafana-password"
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    assert "/secrets/" in (DEPLOY / ".gitignore").read_text().split()


def test_secrets_are_made_once_and_for_this_user_only(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "secrets.sh", tmp_path)
    seen = []
    for _ in range(2):
        subprocess.run([str(tmp_path / "secrets.sh")], check=True, capture_output=True)
        seen.append({f"secrets/{path.name}": path.read_text() for path in (tmp_path / "secrets").iterdir()})
    made = seen[0]
    assert set(made) == MADE
    assert seen[1] == made
    assert all(re.fullmatch(r"[A-Za-z0-9]{32}", text) for text in made.values())
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700


def test_its_configs_are_those_of_the_stack() -> None:
    ports = Ports(prometheus=9090, tempo=3200, tempo_otlp=4318, tempo_grpc=9095, grafana=3000)
    plan = Plan(Path("/data"), Path("/targets"), [], ports, "", 0, 5.0, 15.0)
    ours, theirs = configs.prometheus(plan, "rl-insight:18080", token=True), loaded("prometheus.yaml")
    ours["rule_files"] = theirs["rule_files"]
    ours["scrape_configs"][0]["authorization"]["credentials_file"] = "/etc/prometheus/token"
    for key in ("scrape_interval", "scrape_timeout"):
        ours["global"][key] = "5s"
    assert theirs == ours
    tempo, container = configs.tempo(plan), loaded("tempo.yaml")
    assert set(container) == set(tempo)
    assert container["compactor"] == tempo["compactor"]
    assert loaded("grafana/dashboards/rl-insight.yaml") == configs.dashboard_provider("/etc/rl-insight/dashboards")
    named = {one["uid"]: one["url"] for one in loaded("grafana/datasources/rl-insight.yaml")["datasources"]}
    assert named == {configs.METRICS_UID: "http://prometheus:9090", configs.TRACES_UID: "http://tempo:3200"}


def _is_current(client: list[str]) -> bool:
    if not shutil.which(client[0]):
        return False
    said = subprocess.run([*client, "version", "--short"], capture_output=True, text=True, check=False)
    return said.returncode == 0 and re.match(r"v?([2-9]|\d\d)\.", said.stdout) is not None


def loaded(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())
