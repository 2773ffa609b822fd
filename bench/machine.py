"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from bench.child import ROOT


def machine() -> dict[str, str]:
    """Machine, Python, versions and commit, as text."""
    return {
        "cpu": f"{_cpu()}, {len(os.sched_getaffinity(0))} cores",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{package: version(package) for package in ("rl-insight", "msgspec", "duckdb", "uvicorn")},
        "commit": _commit(),
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"
