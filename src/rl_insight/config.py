"""Settings of recorder and collector: defaults, then a file, then the environment, then what the call says."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

HOME = Path("~/.rl-insight")
DEFAULT_PORT = 18080


class ConfigError(ValueError):
    """A setting is wrong; the message names it and what to write instead."""


class Server(msgspec.Struct, forbid_unknown_fields=True):
    """Where lines go. An empty `url` means: the server running on this machine, else files."""

    url: str = ""
    token: str = ""
    namespace: str = "rl_insight_monitor"
    backend: str = "ray"


class Prometheus(msgspec.Struct, forbid_unknown_fields=True):
    """Kept for clients of RL-Insight 0.3, which set it."""

    metrics_report_port: int = 9092


class Redact(msgspec.Struct, forbid_unknown_fields=True):
    """What never leaves the process. `keys` and `patterns` are regular expressions added to the built-in ones."""

    enabled: bool = True
    keys: list[str] = []
    patterns: list[str] = []
    text: bool = False
    text_keys: list[str] = []
    max_value: int = 4096


class Resources(msgspec.Struct, forbid_unknown_fields=True):
    """The sampler of CPU, memory, network, disk and GPU; one process a node runs it."""

    enabled: bool = True
    interval: float = 10.0


class Ship(msgspec.Struct, forbid_unknown_fields=True):
    """How lines leave the process, and what happens when they cannot."""

    sink: Literal["auto", "http", "file", "memory", "none"] = "auto"
    dir: str = ""
    flush_interval: float = 0.25
    batch_lines: int = 5000
    batch_bytes: int = 4 * 2**20
    buffer_lines: int = 200_000
    memory_bytes: int = 64 * 2**20
    spool_dir: str = ""
    spool_bytes: int = 2**30
    compression: Literal["auto", "zstd", "gzip", "none"] = "auto"
    timeout: float = 10.0
    close_timeout: float = 5.0
    heartbeat: float = 5.0


class Collector(msgspec.Struct, forbid_unknown_fields=True):
    """The collector: where it listens, what it keeps, and its limits."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    data_dir: str = ""
    token: str = ""
    max_body_bytes: int = 32 * 2**20
    max_pending_bytes: int = 256 * 2**20
    fsync: bool = True
    segment_bytes: int = 64 * 2**20
    retain_bytes: int = 100 * 2**30
    retain_days: float = 0.0
    min_free_bytes: int = 256 * 2**20
    project_interval: float = 0.2
    store_memory: str = "2GB"
    store_threads: int = 2


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """Everything that can be set. `rl-insight doctor` prints the values in force and where each came from."""

    project: str | None = None
    experiment: str | None = None
    run: str | None = None
    role: str | None = None
    rank: int | None = None
    node: str | None = None
    enabled: bool = True
    labels: dict[str, str] = {}
    server: Server = msgspec.field(default_factory=Server)
    prometheus: Prometheus = msgspec.field(default_factory=Prometheus)
    ship: Ship = msgspec.field(default_factory=Ship)
    redact: Redact = msgspec.field(default_factory=Redact)
    resources: Resources = msgspec.field(default_factory=Resources)
    collector: Collector = msgspec.field(default_factory=Collector)


# Environment variable → path of the setting. Booleans and numbers are converted from text.
ENVIRONMENT: dict[str, str] = {
    "RL_INSIGHT_PROJECT": "project",
    "RL_INSIGHT_EXPERIMENT": "experiment",
    "RL_INSIGHT_RUN": "run",
    "RL_INSIGHT_ROLE": "role",
    "RL_INSIGHT_RANK": "rank",
    "RL_INSIGHT_NODE": "node",
    "RL_INSIGHT_SERVER_URL": "server.url",
    "RL_INSIGHT_TOKEN": "server.token",
    "RL_INSIGHT_SINK": "ship.sink",
    "RL_INSIGHT_DIR": "ship.dir",
    "RL_INSIGHT_SPOOL_DIR": "ship.spool_dir",
    "RL_INSIGHT_COMPRESSION": "ship.compression",
    "RL_INSIGHT_FLUSH_INTERVAL": "ship.flush_interval",
    "RL_INSIGHT_RESOURCES": "resources.enabled",
    "RL_INSIGHT_RECORD_TEXT": "redact.text",
    "RL_INSIGHT_DATA_DIR": "collector.data_dir",
}

T = TypeVar("T", bound=msgspec.Struct)


def load(
    given: Mapping[str, Any] | str | os.PathLike[str] | Any = None, environ: Mapping[str, str] | None = None
) -> Config:
    """Build the settings from a mapping, an OmegaConf `DictConfig`, a YAML path or nothing, and the environment.

    The environment wins over the file and the mapping, so that one launch line can redirect a whole job.
    """
    settings = _plain(given)
    for variable, path in ENVIRONMENT.items():
        text = (os.environ if environ is None else environ).get(variable, "")
        if text:
            _put(settings, path, text)
    if (os.environ if environ is None else environ).get("RL_INSIGHT_DISABLED", "").lower() not in _FALSE:
        settings["enabled"] = False
    return convert(settings, Config)


_FALSE = ("", "0", "false", "no", "off")


def convert(settings: Mapping[str, Any], into: type[T]) -> T:
    """Check plain settings; an unknown key is answered with the nearest known one."""
    _check_keys(settings, into, "")
    try:
        return msgspec.convert(settings, into, strict=False)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at ")
        raise ConfigError(f"setting {path.strip('`').removeprefix('$.') or '?'}: {problem}") from None


def data_dir(config: Config | None = None) -> Path:
    """The collector's data folder: the setting, else `~/.rl-insight/data`."""
    chosen = config.collector.data_dir if config else ""
    return Path(chosen).expanduser() if chosen else HOME.expanduser() / "data"


def _plain(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if isinstance(given, (str, os.PathLike)):
        return _from_file(Path(given).expanduser())
    if type(given).__module__.startswith("omegaconf"):
        from omegaconf import OmegaConf

        given = OmegaConf.to_container(given, resolve=True)
    if not isinstance(given, Mapping):
        raise ConfigError(f"config must be a mapping, a DictConfig or a path, not {type(given).__name__}")
    # A copy two levels deep: what the environment adds must not show in the caller's mapping.
    return {key: dict(value) if isinstance(value, Mapping) else value for key, value in given.items()}


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ConfigError(f"no config file at {path}; give the path of a YAML file, or leave config out")
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        loaded = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
    except (OmegaConfBaseException, OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as YAML: {error}") from None
    except Exception as error:  # the YAML parser's own errors derive from Exception alone
        raise ConfigError(f"{path} cannot be read as YAML: {error}") from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path} holds a {type(loaded).__name__}; a mapping of settings is wanted")
    return {str(key): value for key, value in loaded.items()}


def _put(settings: dict[str, Any], path: str, value: Any) -> None:
    *parents, leaf = path.split(".")
    for parent in parents:
        inner = settings.get(parent)
        settings[parent] = settings = dict(inner) if isinstance(inner, Mapping) else {}
    settings[leaf] = value


def _check_keys(settings: Mapping[str, Any], into: type[Any], prefix: str) -> None:
    known = {field.name: field.type for field in msgspec.structs.fields(into)}
    for key, value in settings.items():
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)
            hint = f"did you mean {prefix}{near[0]}?" if near else f"known are {', '.join(sorted(known))}"
            raise ConfigError(f"unknown setting {prefix}{key}; {hint}")
        if isinstance(value, Mapping) and isinstance(known[key], type) and issubclass(known[key], msgspec.Struct):
            _check_keys(value, known[key], f"{prefix}{key}.")
