"""A services folder for tests, with programs that stand in for those which cannot run here."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from prometheus_server import binary, free_port

FAKE = Path(__file__).parent / "stack" / "fake_program.py"


def settings(folder: Path, fakes: Iterable[str] = ("tempo", "grafana"), **collector: Any) -> Path:
    """A config file for `--config`: its own data folder, services folder and free ports."""
    services = folder / "services"
    for name in fakes:
        binary = services / name / "bin" / name
        binary.parent.mkdir(parents=True, exist_ok=True)
        binary.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
        binary.chmod(0o755)
    if "grafana" in fakes:
        (services / "grafana" / "conf").mkdir(exist_ok=True)
        (services / "grafana" / "conf" / "defaults.ini").touch()
    ports = {f"{name}_port": free_port() for name in ("prometheus", "tempo", "tempo_otlp", "tempo_grpc", "grafana")}
    stack = {"services_dir": str(services), "scrape_interval": 0.5, **ports}
    path = folder / "settings.yaml"
    wanted = {"data_dir": str(folder / "data"), "port": free_port(), "stack": stack, **collector}
    path.write_text(json.dumps({"collector": wanted}))  # JSON is YAML
    return path


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Prometheus' own checker; the test is skipped, loudly, where it is not."""
    beside = Path(binary()).with_name("promtool")
    tool = str(beside) if beside.is_file() else shutil.which("promtool")
    if tool is None:
        pytest.skip("RULES AND CONFIG ARE NOT CHECKED BY PROMTOOL, because it is not here: it comes with Prometheus")
    return subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=60, check=False)


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["collector"]
    return found
