"""`rl-insight server install|start|stop|status`: the collector with its store and its API."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rl_insight import config
from rl_insight.cli.options import DataDir, resolve
from rl_insight.cli.stack import install as install_stack
from rl_insight.cli.trouble import Trouble, note

if TYPE_CHECKING:
    from rl_insight.serve.address import Address

server_app = typer.Typer(no_args_is_help=True, help="Start, stop and look at the server.")

server_app.command("install")(install_stack)

START_SECONDS = 120.0


@server_app.command()
def start(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. Any but loopback needs a token.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on; 0 takes any free one.", show_default="18080", min=0, max=65535),
    ] = None,
    data_dir: DataDir = None,
    config_file: Annotated[
        Path | None, typer.Option("--config", help="YAML file with settings, see the key 'collector'.", dir_okay=False)
    ] = None,
    auto_port: Annotated[bool, typer.Option("--auto-port", help="Take the next free port if it is taken.")] = False,
    stack: Annotated[
        bool, typer.Option("--stack", help="Start Prometheus, Tempo and Grafana too, as far as they are installed.")
    ] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background; return once healthy.")] = False,
    log_file: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Collect lines from recorders, keep them, and answer queries. Ctrl-C stops it; nothing accepted is lost."""
    settings = _settings(config_file)
    if host is not None:
        settings.host = host
    if port is not None:
        settings.port = port
    folder = resolve(data_dir if data_dir is not None else Path(settings.data_dir) if settings.data_dir else None)
    if detach:
        _start_detached(folder, host, port, config_file, auto_port, stack)
        return

    from rl_insight.cli.beside import BesideServer
    from rl_insight.serve.address import InUse
    from rl_insight.serve.server import PortTaken, configure_logging, serve
    from rl_insight.serve.service import CollectorService

    with _folder_trouble(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        configure_logging(log_file)
        beside = BesideServer(folder, settings, auto_port=auto_port) if stack else None

        def announce(found: Address, token: str) -> None:
            _announce(found, token)
            if beside is not None:
                beside.start()

        try:
            serve(
                folder, settings, lambda: CollectorService.open(folder, settings), auto_port=auto_port, ready=announce
            )
        except (InUse, PortTaken, config.ConfigError) as error:
            raise _split(str(error)) from None
        finally:
            if beside is not None:
                beside.stop()
    note("stopped; everything accepted is stored")


@server_app.command()
def stop(data_dir: DataDir = None) -> None:
    """Stop the server of a data folder, after it has stored what it accepted."""
    from rl_insight.cli.beside import stop_beside
    from rl_insight.serve import address

    folder = resolve(data_dir)
    found = address.read(folder)
    if found is None or not address.is_locked(folder):
        stop_beside(folder)  # the server may have been killed, and its stack left
        note(f"no server runs on {folder}")
        with contextlib.suppress(OSError):
            (folder / "server.json").unlink(missing_ok=True)
        return
    try:
        os.kill(found.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    except PermissionError:
        raise Trouble(f"the server (pid {found.pid}) belongs to another user", "stop it as that user") from None
    deadline = time.monotonic() + START_SECONDS
    while address.is_locked(folder):
        if time.monotonic() > deadline:
            raise Trouble(
                f"the server (pid {found.pid}) has not stopped after {START_SECONDS:.0f} s",
                f"look at {folder / 'server.log'}; 'kill -9 {found.pid}' is safe: nothing accepted is lost",
            )
        time.sleep(0.05)
    note(f"stopped the server at {found.url}")
    stop_beside(folder)


@server_app.command()
def status(
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
) -> None:
    """Say whether a server runs, where, and how it is doing. Exit code 3 when none runs."""
    import json

    from rl_insight.cli.client import running
    from rl_insight.serve import address

    folder = resolve(data_dir)
    client = running(folder)
    if client is None:
        raise Trouble(
            f"no server runs on {folder}", f"start one with 'rl-insight server start --data-dir {folder}'", code=3
        )
    answer = client.get("/api/v1/status")
    if as_json:
        print(json.dumps(answer, indent=2))
        return
    from rich.console import Console

    Console().print(_status_table(address.read(folder), folder, answer))


def _status_table(found: Address | None, folder: Path, answer: dict[str, Any]) -> Any:
    from rich.table import Table

    from rl_insight.cli.text import size

    table = Table(show_header=False, box=None, pad_edge=False)
    collector, store = answer.get("collector") or {}, answer.get("store") or {}
    rows: list[tuple[str, str]] = [("state", str(collector.get("state", answer.get("state", "ok"))))]
    if found:
        rows += [("url", found.url), ("pid", str(found.pid)), ("version", found.version)]
    rows.append(("data", str(folder)))
    if collector:
        rows += [
            ("accepted", f"{collector['accepted']:,} lines in {collector['batches']:,} batches since the start"),
            ("duplicates", f"{collector['duplicates']:,} lines sent again and left out"),
            ("refused", f"{collector['refused']:,} batches"),
            ("log", f"{size(collector['log_bytes'])} in {collector['segments']} segments"),
            ("disk free", size(collector["free_bytes"])),
        ]
        if collector.get("last_error"):
            rows.append(("last error", str(collector["last_error"])))
    rows += [(f"store {key}", str(value)) for key, value in store.items() if value is not None]
    for one in answer.get("exporters") or ():
        said = (
            f"{one['state']}: {one['sent']:,} records sent, {one['dropped']:,} dropped, {size(one['lag_bytes'])} to go"
        )
        rows.append((f"export {one['name']}", said + (f"; {one['last_error']}" if one["last_error"] else "")))
    for name, value in rows:
        table.add_row(f"[bold]{name}[/bold]", value)
    return table


def _settings(config_file: Path | None) -> config.Collector:
    try:
        return config.load(config_file).collector
    except config.ConfigError as error:
        raise _split(str(error)) from None


def _split(text: str) -> Trouble:
    what, _, do = text.partition("; ")
    return Trouble(what, do)


@contextlib.contextmanager
def _folder_trouble(folder: Path) -> Any:
    try:
        yield
    except PermissionError as error:
        raise Trouble(
            f"{error.filename or folder} cannot be written: {error.strerror}", "choose another with --data-dir"
        ) from None
    except (FileExistsError, NotADirectoryError) as error:
        raise Trouble(f"{error.filename or folder} is not a folder", "choose another with --data-dir") from None


def _announce(found: Address, token: str) -> None:
    link = f"{found.url}/?token={token}" if token else found.url
    note(f"RL-Insight is at {link}")
    if token:
        note(f"recorders elsewhere need:  RL_INSIGHT_SERVER_URL={found.url} RL_INSIGHT_TOKEN={token}")
    else:
        note("(this machine only; --host 0.0.0.0 serves others, with a token)")


def _start_detached(
    folder: Path, host: str | None, port: int | None, config_file: Path | None, auto_port: bool, stack: bool
) -> None:
    from rl_insight.cli.beside import tell_beside
    from rl_insight.serve import address

    with _folder_trouble(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        log, crash = folder / "server.log", folder / "server.err"
        before = log.stat().st_size if log.exists() else 0
        command = [sys.executable, "-m", "rl_insight.cli", "server", "start", "--data-dir", str(folder)]
        command += ["--log-file", str(log)]
        command += ["--host", host] if host is not None else []
        command += ["--port", str(port)] if port is not None else []
        command += ["--config", str(config_file.absolute())] if config_file is not None else []
        command += ["--auto-port"] if auto_port else []
        command += ["--stack"] if stack else []
        with crash.open("wb") as output:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, cwd=folder
            )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise _failed_start(crash, log, before)
        found = address.read(folder)
        if found is not None and found.pid == child.pid and address.healthy(found):
            _announce(found, address.token(folder) if found.token else "")
            if stack:
                tell_beside(folder, crash)
            note(f"it runs in the background; stop it with 'rl-insight server stop --data-dir {folder}'")
            return
        time.sleep(0.05)
    raise Trouble(
        f"the server (pid {child.pid}) has not become healthy in {START_SECONDS:.0f} s; it is still trying",
        f"look at {log}, or stop it with 'kill {child.pid}'",
    )


def _failed_start(crash: Path, log: Path, before: int) -> Trouble:
    said = crash.read_text(errors="replace").strip()
    what = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    do = [line.strip().removeprefix("do: ") for line in said.splitlines() if line.strip().startswith("do: ")]
    if what:
        return Trouble(what[0], do[0] if do else "")
    with contextlib.suppress(OSError), log.open("rb") as stream:
        stream.seek(before)
        said = f"{said}\n{stream.read(4000).decode(errors='replace')}".strip()
    return Trouble(f"the server ended while starting:\n{said[-2000:]}", f"see {log}")
