"""The configs of Prometheus, Tempo and Grafana: everything on loopback, nothing anonymous, secrets in files of 0600."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import yaml

from rl_insight.stack.files import ALERTS, FOLDER_TITLE, FOLDER_UID, put, write_dashboards
from rl_insight.stack.plan import HOST, Plan, collector_address
from rl_insight.stack.programs import Program

ADMIN = "admin"
METRICS_UID = "rl-insight-prometheus"
TRACES_UID = "rl-insight-tempo"
# Engines are scraped at their own address; what the collector tells of them again would count twice.
ENGINES = "(vllm|sglang)[:_].+"
# Clients of Python since 0.22 tell a Prometheus before 3.0 such names with an underscore for the colon.
UNDERSCORED = "(vllm|sglang)_([^:]+)"


def write(plan: Plan) -> None:
    """Put every config in place, and make the secrets that are not there yet."""
    plan.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for program in plan.services:
        {"prometheus": write_prometheus, "tempo": _write_tempo, "grafana": _write_grafana}[program.name](plan)


def command(plan: Plan, program: Program) -> list[str]:
    """How a program is started with the config that `write` made."""
    home = plan.folder / program.name
    if program.name == "prometheus":
        return [
            str(program.binary),
            f"--config.file={home / 'prometheus.yaml'}",
            f"--storage.tsdb.path={home / 'data'}",
            f"--storage.tsdb.retention.time={max(1, round(plan.retain_days * 24))}h",
            f"--web.listen-address={HOST}:{plan.ports.prometheus}",
        ]
    if program.name == "tempo":
        return [str(program.binary), f"-config.file={home / 'tempo.yaml'}"]
    start = [str(program.binary), "server"] if program.binary.name == "grafana" else [str(program.binary)]
    return [*start, f"--homepath={program.home}", f"--config={home / 'grafana.ini'}"]


def ready_url(plan: Plan, name: str) -> str:
    """What answers 200 once a program works."""
    return plan.url(name) + {"prometheus": "/-/ready", "tempo": "/ready", "grafana": "/api/health"}[name]


def write_prometheus(plan: Plan) -> bool:
    """Prometheus' config and rules; says whether the config has changed."""
    home = plan.folder / "prometheus"
    target, token = collector_address(plan)
    path, text = home / "prometheus.yaml", _yaml(prometheus(plan, target, token=token))
    put(home / "rules" / "rl-insight.yaml", ALERTS.read_bytes())
    changed = not path.is_file() or path.read_text() != text
    put(path, text)
    return changed


def prometheus(plan: Plan, target: str, *, token: bool) -> dict[str, Any]:
    """What Prometheus scrapes: the collector, and the engines that were registered with it."""
    interval = f"{round(plan.scrape_interval * 1000)}ms"
    evaluation = f"{max(1, min(10, round(2 * plan.scrape_interval)))}s"
    collector: dict[str, Any] = {
        "job_name": "rl-insight",
        "metrics_path": "/metrics",
        "static_configs": [{"targets": [target]}],
        "metric_relabel_configs": [{"source_labels": ["__name__"], "regex": ENGINES, "action": "drop"}],
    }
    if token:
        collector["authorization"] = {"type": "Bearer", "credentials_file": str(plan.data_dir / "token")}
    told = {"alerting": {"alertmanagers": [{"static_configs": [{"targets": plan.alertmanagers}]}]}}
    return {
        **(told if plan.alertmanagers else {}),
        "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": evaluation},
        "rule_files": [str(plan.folder / "prometheus" / "rules" / "*.yaml")],
        "scrape_configs": [
            collector,
            {
                "job_name": "engines",
                "file_sd_configs": [{"files": [str(plan.targets_dir / "*.json")], "refresh_interval": "10s"}],
                # By the same name as the collector's, so that one dashboard fits both.
                "relabel_configs": [
                    {"source_labels": ["engine", "__address__"], "regex": ";(.+)", "target_label": "engine"}
                ],
                "metric_relabel_configs": [
                    {
                        "source_labels": ["__name__"],
                        "regex": UNDERSCORED,
                        "target_label": "__name__",
                        "replacement": "${1}:${2}",
                    }
                ],
            },
        ],
    }


def tempo(plan: Plan) -> dict[str, Any]:
    """One Tempo that keeps its blocks in a folder. Tempo 3 has other words for how long it keeps them."""
    home = plan.folder / "tempo"
    keep = f"{max(1, round(plan.retain_days * 24))}h"
    config: dict[str, Any] = {
        "server": {
            "http_listen_address": HOST,
            "http_listen_port": plan.ports.tempo,
            "grpc_listen_address": HOST,
            "grpc_listen_port": plan.ports.tempo_grpc,
            "log_level": "warn",
        },
        "distributor": {
            "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"{HOST}:{plan.ports.tempo_otlp}"}}}}
        },
        "storage": {
            "trace": {
                "backend": "local",
                "wal": {"path": str(home / "wal")},
                "local": {"path": str(home / "blocks")},
            }
        },
        "usage_report": {"reporting_enabled": False},
    }
    if plan.tempo_major < 3:
        config["compactor"] = {"compaction": {"block_retention": keep}}
    else:
        config["backend_scheduler"] = {"provider": {"compaction": {"compaction": {"block_retention": keep}}}}
        config["backend_worker"] = {"compaction": {"block_retention": keep}}
    return config


def datasources(plan: Plan) -> dict[str, Any]:
    """Where Grafana asks. Only what runs is named, so that no panel waits for what is not there."""
    found: list[dict[str, Any]] = []
    if plan.has("prometheus"):
        found.append(
            {
                "name": "RL-Insight metrics",
                "uid": METRICS_UID,
                "type": "prometheus",
                "access": "proxy",
                "url": plan.url("prometheus"),
                "isDefault": True,
                "jsonData": {
                    "httpMethod": "POST",
                    # Rates are taken over at least four scrapes.
                    "timeInterval": f"{max(1, round(plan.scrape_interval))}s",
                    "manageAlerts": True,
                    "prometheusType": "Prometheus",
                },
            }
        )
    if plan.has("tempo"):
        found.append(
            {
                "name": "RL-Insight traces",
                "uid": TRACES_UID,
                "type": "tempo",
                "access": "proxy",
                "url": plan.url("tempo"),
                "jsonData": {"nodeGraph": {"enabled": True}},
            }
        )
    return {"apiVersion": 1, "datasources": found}


def dashboard_provider(folder: str) -> dict[str, Any]:
    """Where Grafana finds our dashboards. A change made in Grafana can be saved as a copy only."""
    return {
        "apiVersion": 1,
        "providers": [
            {
                "name": FOLDER_TITLE,
                "folder": FOLDER_TITLE,
                "folderUid": FOLDER_UID,
                "type": "file",
                "allowUiUpdates": False,
                "updateIntervalSeconds": 30,
                "options": {"path": folder},
            }
        ],
    }


def grafana_ini(plan: Plan) -> str:
    """Grafana's settings. The password counts when its database is made; later changes are made in Grafana."""
    home = plan.folder / "grafana"
    sections: dict[str, dict[str, object]] = {
        "paths": {
            "data": home / "data",
            "logs": home / "logs",
            "plugins": home / "plugins",
            "provisioning": home / "provisioning",
        },
        "server": {"http_addr": HOST, "http_port": plan.ports.grafana},
        "security": {
            "admin_user": ADMIN,
            "admin_password": f"$__file{{{password_file(plan)}}}",
            "secret_key": f"$__file{{{home / 'secret-key'}}}",
            "cookie_samesite": "strict",
        },
        "auth.anonymous": {"enabled": "false"},
        "users": {"allow_sign_up": "false", "allow_org_create": "false"},
        "dashboards": {"default_home_dashboard_path": home / "dashboards" / "rl-insight-overview.json"},
        "analytics": {
            "reporting_enabled": "false",
            "check_for_updates": "false",
            "check_for_plugin_updates": "false",
        },
        "news": {"news_feed_enabled": "false"},
        "plugins": {"preinstall_disabled": "true"},
        "log": {"mode": "console", "level": "warn"},
    }
    lines = ["; written by rl-insight stack; changes are lost when it starts again", ""]
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{key} = {value}" for key, value in values.items()), ""]
    return "\n".join(lines)


def password_file(plan: Plan) -> Path:
    """Where the generated password of Grafana's admin is."""
    return plan.folder / "grafana" / "admin-password"


def _write_tempo(plan: Plan) -> None:
    home = plan.folder / "tempo"
    for name in ("wal", "blocks"):
        (home / name).mkdir(parents=True, exist_ok=True)
    put(home / "tempo.yaml", _yaml(tempo(plan)))


def _write_grafana(plan: Plan) -> None:
    home = plan.folder / "grafana"
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    _secret(password_file(plan))
    _secret(home / "secret-key")
    write_dashboards(home / "dashboards")
    put(home / "provisioning" / "datasources" / "rl-insight.yaml", _yaml(datasources(plan)))
    put(
        home / "provisioning" / "dashboards" / "rl-insight.yaml",
        _yaml(dashboard_provider(str(home / "dashboards"))),
    )
    # Grafana complains about folders of provisioning that are not there.
    for name in ("plugins", "alerting"):
        (home / "provisioning" / name).mkdir(exist_ok=True)
    (home / "plugins").mkdir(exist_ok=True)
    put(home / "grafana.ini", grafana_ini(plan), mode=0o600)


def _secret(path: Path) -> None:
    if not path.is_file() or not path.read_text().strip():
        put(path, secrets.token_urlsafe(24), mode=0o600)
    path.chmod(0o600)


def _yaml(config: dict[str, Any]) -> str:
    return str(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
