"""Settings of recorder and collector: defaults, then a file, then the environment, then what the call says."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

HOME = Path("~/.rl-insight")
DEFAULT_PORT = 18080

Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=86400)]
Size: TypeAlias = Annotated[int, Meta(ge=0)]
Positive: TypeAlias = Annotated[int, Meta(ge=1)]


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
    max_value: Positive = 4096


class Resources(msgspec.Struct, forbid_unknown_fields=True):
    """The sampler of CPU, memory, network, disk and GPU; one process a node runs it."""

    enabled: bool = True
    interval: Seconds = 10.0
    delay: Annotated[float, Meta(ge=0, le=86400)] = 0.0


class Ship(msgspec.Struct, forbid_unknown_fields=True):
    """How lines leave the process, and what happens when they cannot."""

    sink: Literal["auto", "http", "file", "memory", "none"] = "auto"
    dir: str = ""
    flush_interval: Seconds = 0.25
    batch_lines: Positive = 5000
    batch_bytes: Positive = 4 * 2**20
    buffer_lines: Positive = 200_000
    memory_bytes: Size = 64 * 2**20
    spool_dir: str = ""
    spool_bytes: Size = 2**30
    compression: Literal["auto", "zstd", "gzip", "none"] = "auto"
    timeout: Seconds = 10.0
    close_timeout: Annotated[float, Meta(ge=0, le=86400)] = 5.0
    heartbeat: Seconds = 5.0


class Scrape(msgspec.Struct, forbid_unknown_fields=True):
    """How the collector reads the `/metrics` of engines and other registered targets."""

    enabled: bool = True
    interval: Annotated[float, Meta(ge=0.1, le=3600)] = 10.0
    timeout: Seconds = 5.0
    max_bytes: Positive = 8 * 2**20
    max_series: Positive = 2000
    buckets: bool = True
    drop: list[str] = msgspec.field(default_factory=lambda: ["python_", "process_", "go_", "promhttp_"])
    forget: Annotated[float, Meta(ge=0)] = 3600.0


class Ray(msgspec.Struct, forbid_unknown_fields=True):
    """Inside a Ray job: who collects its lines, and what is placed on its nodes. Other processes ignore it."""

    enabled: bool = True
    collector: bool = True
    detached: bool = False
    samplers: bool = True
    trace_calls: bool = False
    wait: Annotated[float, Meta(ge=0, le=86400)] = 15.0
    start_timeout: Annotated[float, Meta(ge=0, le=86400)] = 10.0


class Stack(msgspec.Struct, forbid_unknown_fields=True):
    """Prometheus, Tempo and Grafana, where `rl-insight stack` runs them: all on this machine's loopback."""

    services_dir: str = ""
    prometheus_port: Annotated[int, Meta(ge=1, le=65535)] = 9090
    tempo_port: Annotated[int, Meta(ge=1, le=65535)] = 3200
    tempo_otlp_port: Annotated[int, Meta(ge=1, le=65535)] = 4320
    tempo_grpc_port: Annotated[int, Meta(ge=1, le=65535)] = 9095
    grafana_port: Annotated[int, Meta(ge=1, le=65535)] = 3000
    scrape_interval: Annotated[float, Meta(ge=0.1, le=3600)] = 5.0
    retain_days: Annotated[float, Meta(gt=0)] = 15.0
    alertmanagers: list[str] = []


class OtlpExport(msgspec.Struct, forbid_unknown_fields=True):
    """A destination of OTLP/HTTP: `endpoint` is its base URL, to which `/v1/traces` and its like are added."""

    endpoint: str
    name: str = ""
    signals: list[Literal["traces", "metrics", "logs"]] = msgspec.field(
        default_factory=lambda: ["traces", "metrics", "logs"]
    )
    headers: dict[str, str] = {}
    compression: Literal["gzip", "none"] = "gzip"
    timeout: Seconds = 10.0
    traces_endpoint: str = ""
    metrics_endpoint: str = ""
    logs_endpoint: str = ""
    begin: Literal["now", "start"] = "now"
    received: bool = True
    heartbeats: bool = True
    batch_lines: Positive = 2000


class Exposition(msgspec.Struct, forbid_unknown_fields=True):
    """What the server's own `/metrics` shows a Prometheus. `buckets` are by metric, `default` for those not named."""

    namespace: Annotated[str, Meta(pattern="^[a-zA-Z_][a-zA-Z0-9_]*$")] = "rl_insight_monitor"
    buckets: dict[str, Annotated[list[float], Meta(min_length=1, max_length=200)]] = {}
    max_series: Positive = 2000
    max_metrics: Positive = 2000
    keep: Annotated[float, Meta(ge=0)] = 900.0


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
    store_memory: str = "512MB"
    store_threads: int = 2
    redact: Redact = msgspec.field(default_factory=Redact)
    otlp_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    otlp_run: str = ""
    otlp_export: list[OtlpExport] = []
    targets_dir: str = ""
    scrape: Scrape = msgspec.field(default_factory=Scrape)
    prometheus: Exposition = msgspec.field(default_factory=Exposition)
    stack: Stack = msgspec.field(default_factory=Stack)


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
    aliases: dict[str, str] = {}
    server: Server = msgspec.field(default_factory=Server)
    prometheus: Prometheus = msgspec.field(default_factory=Prometheus)
    ship: Ship = msgspec.field(default_factory=Ship)
    redact: Redact = msgspec.field(default_factory=Redact)
    resources: Resources = msgspec.field(default_factory=Resources)
    ray: Ray = msgspec.field(default_factory=Ray)
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

# What a process was told and its children must know as well; set by `init`, read by theirs. The weakest source of all.
INHERITED = "RL_INSIGHT_INHERITED"
_HANDED_DOWN = ("labels", "redact", "ship", "resources", "ray")

T = TypeVar("T", bound=msgspec.Struct)


def load(
    given: Mapping[str, Any] | str | os.PathLike[str] | Any = None, environ: Mapping[str, str] | None = None
) -> Config:
    """Build the settings from a mapping, an OmegaConf `DictConfig`, a YAML path or nothing, and the environment.

    The environment wins over the file and the mapping, so that one launch line can redirect a whole job.
    """
    environ = os.environ if environ is None else environ
    settings = _under(_plain(given), _handed_down(environ))
    for variable, path in ENVIRONMENT.items():
        text = environ.get(variable, "")
        if text:
            _put(settings, path, text)
    if environ.get("RL_INSIGHT_LABELS"):
        _put_labels(settings, environ["RL_INSIGHT_LABELS"])
    if environ.get("RL_INSIGHT_DISABLED", "").lower() not in _FALSE:
        settings["enabled"] = False
    return convert(settings, Config)


def inherited(config: Config) -> str:
    """What child processes are told of these settings: those that are not as they come, without any secret."""
    ours, plain = msgspec.to_builtins(config), msgspec.to_builtins(Config())
    told: dict[str, Any] = {}
    for section in _HANDED_DOWN:
        changed = {key: value for key, value in ours[section].items() if plain[section].get(key) != value}
        changed.pop("dir", None)  # told by RL_INSIGHT_DIR
        if changed:
            told[section] = changed
    import json

    return json.dumps(told) if told else ""  # in ASCII, which every environment can carry


def adopt(config: Config, told: str) -> None:
    """Take over what `inherited` said of another process's settings, wherever these are as they come."""
    plain = msgspec.to_builtins(Config())
    for section, values in _handed_down({INHERITED: told}).items():
        if section == "labels":
            config.labels = {**values, **config.labels}
            continue
        ours = msgspec.to_builtins(getattr(config, section))
        taken = {key: value for key, value in values.items() if ours[key] == plain[section][key]}
        setattr(config, section, msgspec.convert({**ours, **taken}, type(getattr(config, section))))


_FALSE = ("", "0", "false", "no", "off")


def convert(settings: Mapping[str, Any], into: type[T]) -> T:
    """Check plain settings; an unknown key is answered with the nearest known one."""
    _check_keys(settings, into, "")
    try:
        return msgspec.convert(_said(settings), into, strict=False)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at ")
        raise ConfigError(f"setting {path.strip('`').removeprefix('$.') or '?'}: {problem}") from None


def _said(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing: a section of a YAML file with all its settings commented out is None."""
    said = {key: value for key, value in settings.items() if value is not None}
    return {key: _said(value) if isinstance(value, Mapping) else value for key, value in said.items()}


def data_dir(config: Config | None = None) -> Path:
    """The collector's data folder: the setting, else `~/.rl-insight/data`."""
    chosen = config.collector.data_dir if config else ""
    return Path(chosen).expanduser() if chosen else home() / "data"


def home() -> Path:
    """`~/.rl-insight`, or a folder for temporary files where this user has no home."""
    try:
        return HOME.expanduser()
    except RuntimeError:  # a container that runs under a number nobody gave a name
        import tempfile

        return Path(tempfile.gettempdir()) / f"rl-insight-{os.getuid()}"


def _plain(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if isinstance(given, (str, os.PathLike)):
        return _from_file(Path(given).expanduser())
    if type(given).__module__.startswith("omegaconf"):
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException

        try:
            given = OmegaConf.to_container(given, resolve=True)
        except (OmegaConfBaseException, ValueError) as error:
            raise ConfigError(f"config cannot be read: {error}") from None
    if not isinstance(given, Mapping):
        raise ConfigError(f"config must be a mapping, a DictConfig or a path, not {type(given).__name__}")
    # A copy two levels deep: what the environment adds must not show in the caller's mapping.
    return {str(key): dict(value) if isinstance(value, Mapping) else value for key, value in given.items()}


def _handed_down(environ: Mapping[str, str]) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(environ.get(INHERITED, "") or "{}", type=dict[str, dict[str, Any]])
        convert(told, Config)
    except (msgspec.DecodeError, ConfigError):  # of another version, or mangled: not this process's fault
        return {}
    return told


def _under(settings: dict[str, Any], weaker: dict[str, Any]) -> dict[str, Any]:
    for section, values in weaker.items():
        given = settings.get(section)
        if given is None or isinstance(given, Mapping):
            settings[section] = {**values, **(given or {})}
    return settings


def _put_labels(settings: dict[str, Any], text: str) -> None:
    """`rack=7,zone=b`, as OTEL_RESOURCE_ATTRIBUTES has it."""
    items = [item.partition("=") for item in text.split(",") if item.strip()]
    if not all(key.strip() and equals for key, equals, _ in items):
        raise ConfigError("setting labels: RL_INSIGHT_LABELS must read name=value,name=value")
    labels = {key.strip(): value.strip() for key, _, value in items}
    given = settings.get("labels")
    settings["labels"] = {**given, **labels} if isinstance(given, Mapping) else labels


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
