"""`update_prometheus_config`: where engines show their metrics, told to our server or to a Prometheus of the user's."""

from __future__ import annotations

import http.client
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from rl_insight.adapters.prometheus_file import BadConfig, with_targets, write
from rl_insight.record.recorder import recorder
from rl_insight.record.values import shown
from rl_insight.ship.targets import register

DEFAULT_JOB = "rl_insight"
DEFAULT_PORT = 9090
MODES = ("http", "ray", "none")
_TIMEOUT = 10.0


@overload
def update_prometheus_config(
    server_addresses: Sequence[str],
    job_name: str | None = None,
    labels: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
) -> bool: ...


@overload
def update_prometheus_config(
    conf: Mapping[str, Any],
    server_addresses: Sequence[str],
    job_name: str | None = None,
    reload_mode: str | None = None,
) -> bool: ...


def update_prometheus_config(*given: Any, **named: Any) -> bool:
    """Have the metrics of engines scraped: tell the server about them, or edit a Prometheus' config and reload it.

    `update_prometheus_config(server_addresses, job_name=None, labels=None)` registers `host:port` addresses with the
    server; `labels` is one mapping for all, or a list with one for each address.
    `update_prometheus_config(conf, server_addresses, job_name=…, reload_mode=…)` with
    `conf = {"prometheus": {"config_file": …, "prometheus_port": 9090, "reload": {"mode": "http"}}}` puts the
    addresses into that file and has Prometheus read it: over `http` on this machine, on every node of the `ray`
    cluster, or `none`.

    True when it is done. When it is not, a warning says what to do; no failure reaches the caller.
    """
    first = "conf" in named or "reload_mode" in named or (bool(given) and _is_mapping(given[0]))
    wanted = ("conf", "server_addresses", "job_name", "reload_mode") if first else _REGISTERED
    asked = dict(zip(wanted, given, strict=False))
    unknown = [name for name in named if name not in wanted]
    twice = [name for name in named if name in asked]
    if unknown or twice or len(given) > len(wanted):
        wrong = unknown or twice or [f"{len(given)} positions"]
        raise TypeError(f"update_prometheus_config({', '.join(wanted)}) was called with {', '.join(map(repr, wrong))}")
    asked |= named
    try:
        return _edit(**asked) if first else _register(**asked)
    except BadConfig as bad:
        recorder.warn(f"rl-insight: update_prometheus_config: {bad}")
    except Exception as error:  # training goes on without it
        recorder.warn(f"rl-insight: update_prometheus_config failed: {type(error).__name__}: {error}")
    return False


_REGISTERED = ("server_addresses", "job_name", "labels")


def _register(server_addresses: Any = None, job_name: Any = None, labels: Any = None) -> bool:
    targets = _addresses(server_addresses)
    asked: dict[str, Any] = {"targets": targets}
    if job_name is not None:
        asked["job_name"] = str(job_name)
    if labels is not None:
        asked["labels"] = (
            _plain(labels) if _is_mapping(labels) else [None if one is None else _plain(one) for one in labels]
        )
    return register(asked)


def _edit(conf: Any = None, server_addresses: Any = None, job_name: Any = None, reload_mode: str | None = None) -> bool:
    given = _plain(conf) if conf is not None else {}
    settings = given.get("prometheus", given)
    if not isinstance(settings, Mapping) or not settings.get("config_file"):
        raise BadConfig('conf names no file; give {"prometheus": {"config_file": "prometheus.yml"}}')
    reload = settings.get("reload") or {}
    mode = str(reload_mode or (reload.get("mode") if isinstance(reload, Mapping) else reload) or "http")
    if mode not in MODES:
        raise BadConfig(f"reload mode {mode!r} is none of {', '.join(MODES)}")
    try:
        port = int(settings.get("prometheus_port") or DEFAULT_PORT)
    except (TypeError, ValueError):
        raise BadConfig(f"prometheus_port {shown(settings.get('prometheus_port'))} is no port") from None
    job = str(job_name or DEFAULT_JOB)
    addresses = _addresses(server_addresses)
    # The file that the caller means, also on other nodes: a Ray task has a working folder of its own.
    path = str(Path(str(settings["config_file"])).expanduser().absolute())
    if mode == "ray":
        return _on_every_node(path, job, addresses, port)
    edit(path, job, addresses)
    if mode == "http":
        reload_over_http(port)
    return True


def edit(path: str, job: str, addresses: list[str]) -> None:
    """Put the addresses of a job into a Prometheus' config, and leave the rest of the file as it is."""
    file = Path(path).expanduser()
    try:
        text = file.read_text() if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{file} cannot be read: {error}") from None
    try:
        write(file, with_targets(text, job, addresses))
    except BadConfig as bad:
        raise BadConfig(f"{file}: {bad}") from None
    except OSError as error:
        raise BadConfig(f"{file} cannot be written: {error.strerror or error}; may this user write there?") from None


def reload_over_http(port: int) -> None:
    """Have the Prometheus on this machine read its config again; raises `BadConfig` that says what to do."""
    url = f"http://127.0.0.1:{port}/-/reload"
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
        try:
            connection.request("POST", "/-/reload")
            response = connection.getresponse()
            said = response.read(4096).decode(errors="replace").strip()
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise BadConfig(
            f"the config is written, but no Prometheus answers at {url}: {reason}; start it, or set "
            "prometheus.prometheus_port to its port (reload.mode 'none' leaves the reload to you)"
        ) from None
    if response.status in (403, 405):
        raise BadConfig(
            f"the config is written, but Prometheus refuses to reload ({response.status}); start it with "
            "--web.enable-lifecycle, or send it SIGHUP and set prometheus.reload.mode to 'none'"
        )
    if response.status != 200:
        raise BadConfig(
            f"the config is written, but Prometheus could not load it ({response.status}: {said}); "
            "promtool check config FILE tells what is wrong"
        )


def _on_every_node(path: str, job: str, addresses: list[str], port: int) -> bool:
    """Edit and reload on each node of the Ray cluster; enough when one of them has a Prometheus."""
    try:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
    except ImportError:
        raise BadConfig("reload mode 'ray' needs Ray: pip install ray, or use 'http' or 'none'") from None
    if not ray.is_initialized():
        raise BadConfig("reload mode 'ray' needs a Ray that is initialised; call ray.init() first, or use 'http'")
    everywhere: Any = ray.nodes  # untyped in Ray
    nodes = {node["NodeID"]: node.get("NodeName") or node["NodeID"] for node in everywhere() if node["Alive"]}
    task: Any = ray.remote(num_cpus=0, max_retries=0)(_on_this_node)
    answers = {
        node: task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(
            path, job, addresses, port
        )
        for node in nodes
    }
    done, problems = 0, []
    for node, answer in answers.items():
        try:
            problem = ray.get(answer, timeout=60)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        done += problem is None
        if problem is not None:
            problems.append(f"{nodes[node]}: {problem}")
    if done:
        return True
    raise BadConfig("no node could be told. " + "; ".join(problems[:5]))


def _on_this_node(path: str, job: str, addresses: list[str], port: int) -> str | None:
    """What went wrong on this node, or None."""
    try:
        edit(path, job, addresses)
        reload_over_http(port)
    except BadConfig as bad:
        return str(bad)
    return None


def _addresses(given: Any) -> list[str]:
    if isinstance(given, (str, bytes)) or given is None or _is_mapping(given):
        raise BadConfig(f"server_addresses must be a list of 'host:port', not {shown(given)}")
    addresses = list(given)
    if not addresses:
        raise BadConfig("server_addresses is empty; name at least one 'host:port'")
    if not all(isinstance(one, str) and one.strip() for one in addresses):
        raise BadConfig(f"server_addresses must be texts like 'host:port', not {shown(addresses)}")
    return [one.strip() for one in addresses]


def _is_mapping(given: Any) -> bool:
    return isinstance(given, Mapping) or hasattr(given, "items")


def _plain(given: Any) -> dict[str, Any]:
    if type(given).__module__.startswith("omegaconf"):
        from omegaconf import OmegaConf

        given = OmegaConf.to_container(given, resolve=True)
    return dict(given)
