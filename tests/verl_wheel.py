"""The real verl 0.9.1 without its dependencies: its tracking module alone, as its processes load it."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

VERSION = "0.9.1"
CACHE = Path(__file__).parent.parent / ".bench-venvs" / f"verl-{VERSION}"

# What a process does to have verl's tracking module; the packages around it would load PyTorch and more.
LOAD = """
import importlib, os, sys, types

def load_verl():
    folder = os.environ["VERL_FOLDER"]
    sys.path.append(folder)
    for name in ("verl", "verl.utils"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, *name.split("."))]
        sys.modules[name] = package
    return importlib.import_module("verl.utils.tracking")
"""


# What verl's trainer does, in its order: engines are registered, then the tracking starts, then it logs each step.
TRAIN = """
def train(logger_class, url, engine):
    import time
    config = {"trainer": {"rl_insight": {"server": {"url": url}}}}
    logger_class.register_rollout_metrics([engine], "vllm", labels=[{"replica": 0}])
    logger = logger_class("math", "grpo-7b", config)
    logger.log(data={"val-core/acc": 0.1}, step=0)
    for step in (1, 2, 3):
        begun = time.time()
        with logger_class.trace_state("vllm_generate", state_lane_id="replica_0"):
            time.sleep(0.02)
        time.sleep(0.02)
        metrics = {"actor/loss": 1.0 / step, "not a number": "text", "timing_s/step": time.time() - begun}
        logger.log(data={**metrics, "training/global_step": step, "training/epoch": 0}, step=step)
    return logger
"""


@cache
def verl_folder() -> Path:
    """A folder with verl and what its tracking module imports; a loud skip where no index has them."""
    try:
        CACHE.parent.mkdir(exist_ok=True)
        with CACHE.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (CACHE / "done").is_file():
                _install()
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        pytest.skip(f"VERL IS NOT TESTED: verl {VERSION} could not be installed: {said.strip()[-300:]}")
    return CACHE


def _install() -> None:
    wanted = [f"verl=={VERSION}", "orjson>=3.10"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(CACHE)]
    subprocess.run([*command, *wanted], check=True, capture_output=True, text=True, timeout=240)
    (CACHE / "done").touch()
