"""Who records: the process line's content, gathered once at `init` and again after a fork."""

import os
import platform
import random
import socket
import sys
import time
from typing import Any

import msgspec

from rl_insight.config import Config
from rl_insight.version import __version__

# Asked for only when already imported: naming a version must not load a library.
_LIBRARIES = (
    "torch",
    "ray",
    "vllm",
    "sglang",
    "verl",
    "areal",
    "xtuner",
    "transformers",
    "numpy",
    "jax",
    "deepspeed",
)
_MAX_NAME = 512
_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


class Identity(msgspec.Struct):
    """What the process line says of this process."""

    proc: str
    run: str
    project: str | None
    experiment: str | None
    role: str | None
    rank: int | None
    node: str
    host: str
    pid: int
    parent: str | None
    started: int
    config_hash: str
    versions: dict[str, str]
    labels: dict[str, str]
    aliases: dict[str, str]


def new_proc() -> str:
    """A name for one incarnation of a process, never used again."""
    return f"{random.SystemRandom().getrandbits(64):016x}"


def new_run(config: Config) -> str:
    """A run's id that a person can read and sort: what it is, when it began, and a few letters of chance."""
    what = config.experiment or config.project or "run"
    stem = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in what)[:80]
    return f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}-{random.SystemRandom().getrandbits(16):04x}"


def identify(config: Config, started: int, parent: str | None = None) -> Identity:
    """Describe this process under the given settings."""
    host = socket.gethostname()
    return Identity(
        proc=new_proc(),
        run=_printable(config.run or new_run(config)),
        project=config.project,
        experiment=config.experiment,
        role=config.role,
        rank=config.rank if config.rank is not None else _rank(),
        node=config.node or host,
        host=host,
        pid=os.getpid(),
        parent=parent,
        started=started,
        config_hash=_config_hash(config),
        versions=versions(),
        labels=dict(config.labels),
        aliases=dict(config.aliases),
    )


def versions() -> dict[str, str]:
    """Versions of Python, of us and of the training libraries this process has loaded."""
    found = {"python": platform.python_version(), "rl_insight": __version__}
    for library in _LIBRARIES:
        version = getattr(sys.modules.get(library), "__version__", None)
        if version is not None:
            found[library] = str(version)
    return found


def _printable(name: str) -> str:
    # Children join under this name through the environment, which cannot carry every letter.
    return "".join(letter if letter.isprintable() else "-" for letter in name)[:_MAX_NAME]


def _rank() -> int | None:
    for variable in _RANK_VARIABLES:
        value = os.environ.get(variable, "")
        if value.isascii() and value.isdigit() and len(value) < 19:
            return int(value)
    return None


def _config_hash(config: Config) -> str:
    import hashlib
    import json

    settings: Any = msgspec.to_builtins(config)
    for section in ("server", "collector"):
        settings[section].pop("token", None)
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
