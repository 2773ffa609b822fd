"""What the package ships for Grafana and Prometheus: dashboards, made by tools/dashboards, and alert rules."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent
ALERTS = HERE / "alerts.yaml"
FOLDER_TITLE = "RL-Insight"
FOLDER_UID = "rl-insight"


def dashboards() -> dict[str, bytes]:
    """Every dashboard: file name and classic JSON."""
    return {path.name: path.read_bytes() for path in sorted((HERE / "dashboards").glob("*.json"))}


def write_dashboards(folder: Path) -> list[Path]:
    """Put the dashboards into a folder; those of ours that are no longer shipped are taken away."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {f"rl-insight-{name}": body for name, body in dashboards().items()}
    for old in folder.glob("rl-insight-*.json"):
        if old.name not in wanted:
            old.unlink()
    return [put(folder / name, body) for name, body in wanted.items()]


def put(path: Path, body: bytes | str, mode: int = 0o644) -> Path:
    """Write a file in one go, so that whoever reads it sees the old or the new one; untouched when it says the same."""
    raw = body.encode() if isinstance(body, str) else body
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if path.read_bytes() == raw and path.stat().st_mode & 0o777 == mode:
            return path
    except FileNotFoundError:
        pass
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as stream:
        os.fchmod(descriptor, mode)
        stream.write(raw)
    fresh.replace(path)
    return path
