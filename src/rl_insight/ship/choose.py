"""Which sink a process uses: what the settings say, else the server on this machine, else files."""

import hashlib
import json
import os
from pathlib import Path

from rl_insight.config import DEFAULT_PORT, Config, ConfigError, data_dir, home
from rl_insight.record.identity import Identity
from rl_insight.ship.file import FileSink
from rl_insight.ship.handed import HandedSink
from rl_insight.ship.http import HttpSink
from rl_insight.ship.memory import MemorySink
from rl_insight.ship.ray import RaySink, in_ray, is_actor_url
from rl_insight.ship.sink import Sink


def choose_sink(config: Config, identity: Identity) -> Sink:
    """Make the sink of this process; raise `ConfigError` when the settings cannot be met."""
    kind, url, token = config.ship.sink, config.server.url, config.server.token
    if kind == "auto":
        if not url and not config.ship.dir:
            url, found_token = local_server(data_dir(config))
            token = token or found_token
        kind = "http" if url else "file"
    if kind == "memory":
        return MemorySink()
    if kind == "file":
        folder = Path(config.ship.dir).expanduser() if config.ship.dir else home() / "runs" / folder_name(identity.run)
        # Absolute from the start: the process, and more so its children, may change their working folder.
        return FileSink(folder.absolute(), identity.proc)
    try:
        if is_actor_url(url):
            return _actor_sink(config, url, identity)
        return HttpSink(
            url or f"http://127.0.0.1:{DEFAULT_PORT}",
            token,
            compression=config.ship.compression,
            timeout=config.ship.timeout,
        )
    except ValueError as error:
        raise ConfigError(str(error)) from None


def local_server(folder: Path) -> tuple[str, str]:
    """Address and token of the server that runs on this machine from `folder`, or two empty strings."""
    try:
        server = json.loads((folder / "server.json").read_bytes())
        os.kill(server["pid"], 0)
        url = str(server["url"])
    except PermissionError:  # it runs, as somebody else
        url = str(server["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", ""
    try:
        token = (folder / "token").read_text().strip()
    except OSError:
        token = ""
    return url, token


def _actor_sink(config: Config, url: str, identity: Identity) -> Sink:
    sink = RaySink(url, timeout=config.ship.timeout)
    # A child of a Ray worker, started or forked by it, is no part of the cluster itself.
    if in_ray():
        return sink
    near = os.environ.get("RL_INSIGHT_SERVER_URL", "")
    if near and not is_actor_url(near):  # what a forked child would have been told, had it been started
        return HttpSink(near, os.environ.get("RL_INSIGHT_TOKEN", ""), timeout=config.ship.timeout)
    return HandedSink(url, _spools(config, url, identity) / identity.proc, config.ship.spool_bytes)


def spool_parent(config: Config, sink: Sink, identity: Identity) -> Path | None:
    """The folder of this node's spools for this destination, if the sink has one that may be away."""
    if not sink.destination or config.ship.spool_bytes <= 0:
        return None
    return _spools(config, sink.destination, identity)


def _spools(config: Config, destination: str, identity: Identity) -> Path:
    root = Path(config.ship.spool_dir).expanduser().absolute() if config.ship.spool_dir else home() / "spool"
    # One folder a node, as home folders are often shared, and one a destination, as lines must not change theirs.
    return root / folder_name(identity.node) / hashlib.sha256(destination.encode()).hexdigest()[:12]


def folder_name(name: str) -> str:
    """A run's or a node's name as the name of one folder, wherever it came from."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)[:100]
    return kept.lstrip(".") or "-"
