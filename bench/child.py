"""Starting processes that measure, in an environment without anybody's settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def environment(**more: str) -> dict[str, str]:
    """This environment without settings of ours, without the sampler, and without messages."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RL_INSIGHT_")}
    return {**kept, "RL_INSIGHT_RESOURCES": "0", "RL_INSIGHT_QUIET": "1", **more}


def answer(module: str, *arguments: str, python: str | Path = sys.executable, timeout: float = 600, **more: str) -> Any:
    """Run a module to its end; what it measured is JSON on its last line."""
    around = environment(**more)
    if str(python) != sys.executable:
        # Another environment has packages of its own, one of them of the same name as ours.
        around.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(python), "-m", module, *arguments],
        cwd=ROOT,
        env=around,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(f"{module} ended with {done.returncode}: {said[-1] if said else 'it said nothing'}")
    return json.loads(lines[-1])
