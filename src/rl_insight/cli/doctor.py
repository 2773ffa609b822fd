"""`rl-insight doctor`: what is wrong with a set-up, and what to do about each thing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from rl_insight import config
from rl_insight.cli.options import DataDir, Url, resolve
from rl_insight.cli.text import size, span
from rl_insight.cli.trouble import Trouble

if TYPE_CHECKING:
    from rl_insight.cli.client import Client

CLOCK_NANOS = 1_000_000_000
LOW_DISK = 0.05


class Finding(NamedTuple):
    """One thing looked at. `do` says how to put a problem right."""

    level: Literal["ok", "warning", "problem"]
    what: str
    do: str = ""


def doctor(
    data_dir: DataDir = None,
    url: Url = None,
    config_file: Annotated[
        Path | None, typer.Option("--config", help="The settings file the recorders or the server use.", dir_okay=False)
    ] = None,
    settings: Annotated[bool, typer.Option("--settings", help="List all settings in force and their origin.")] = False,
) -> None:
    """Look for what is wrong with a set-up, as a recorder on this machine would find it, and say what to do.

    Exit code 0: nothing wrong. 1: at least one problem.
    """
    findings = list(examine(data_dir, url, config_file))
    show(findings)
    if settings:
        show_settings(config_file)
    raise typer.Exit(1 if any(finding.level == "problem" for finding in findings) else 0)


def examine(data_dir: Path | None, url: str | None, config_file: Path | None) -> Iterator[Finding]:
    """Everything worth saying, from the settings to the disk."""
    try:
        chosen = config.load(config_file)
    except config.ConfigError as error:
        what, _, do = str(error).partition("; ")
        yield Finding("problem", f"the settings are wrong: {what}", do or "correct the setting")
        return
    if not chosen.enabled:
        yield Finding("problem", "recording is off: RL_INSIGHT_DISABLED is set", "unset it, or set it to 0")
    folder = resolve(data_dir if data_dir is not None else Path(chosen.collector.data_dir or config.data_dir(None)))
    client = None
    for finding, found in _server(folder, url or chosen.server.url, chosen):
        client = found or client
        yield finding
    if client is not None:
        yield from _clock(client)
        yield from _collector(client)
    yield from _records(folder, client)
    yield from _spool(chosen)
    yield from _disk(folder, chosen)


def _server(folder: Path, url: str, chosen: config.Config) -> Iterator[tuple[Finding, Client | None]]:
    from rl_insight.cli.client import Client, Unreachable, WrongToken
    from rl_insight.serve import address
    from rl_insight.version import __version__

    found = address.read(folder)
    if url:
        client = Client(url, chosen.server.token, timeout=5.0)
    elif found is not None:
        client = Client(address.local_url(found), address.token(folder) if found.token else "", timeout=5.0)
    else:
        files = chosen.ship.dir or config.home() / "runs"
        yield (
            Finding(
                "warning",
                f"no server runs on {folder} and RL_INSIGHT_SERVER_URL is not set: recorders write files to {files}",
                "start one with 'rl-insight server start --detach', "
                f"or look at the files with 'rl-insight open {files}'",
            ),
            None,
        )
        return
    try:
        answer = client.get("/api/v1/status")
    except Unreachable as error:
        stale = not url and not address.is_locked(folder)
        do = (
            f"it was killed or has crashed; start it again: 'rl-insight server start --data-dir {folder}'"
            if stale
            else "is it started, is the address right, is a firewall or proxy between? "
            "A server that others should reach needs --host 0.0.0.0"
        )
        yield Finding("problem", error.what, do), None
        return
    except WrongToken as error:
        given = "with the token in use" if client.token else "without a token"
        yield Finding("problem", f"{error.what} ({given})", error.do), None
        return
    except Trouble as error:
        yield Finding("problem", error.what, error.do or "is that an RL-Insight server?"), None
        return
    yield Finding("ok", f"the server at {client.url} answers, version {answer.get('version', '?')}"), client
    if answer.get("version") != __version__:
        yield (
            Finding(
                "warning",
                f"this is version {__version__}, the server is {answer.get('version', 'unknown')}",
                "upgrade the older one: pip install --upgrade rl-insight",
            ),
            client,
        )


def _clock(client: Client) -> Iterator[Finding]:
    before = time.time_ns()
    there = int(client.get("/api/v1/status")["clock"])
    after = time.time_ns()
    # The true offset lies between these two; only what the round trip cannot explain counts.
    off = there - after if there > after else there - before if there < before else 0
    if abs(off) > CLOCK_NANOS:
        yield Finding(
            "problem",
            f"this machine's clock is {span(abs(off))} {'behind' if off > 0 else 'ahead of'} the server's",
            "set up NTP (chrony, systemd-timesyncd) on both; times are the producers' own, views can correct them",
        )
    else:
        yield Finding("ok", "the clocks of this machine and the server agree")


def _collector(client: Client) -> Iterator[Finding]:
    answer: dict[str, Any] = client.get("/api/v1/status")
    collector, store = answer.get("collector") or {}, answer.get("store") or {}
    if collector.get("state") == "disk full":
        yield Finding(
            "problem",
            f"the collector refuses lines: {collector.get('last_error')}",
            "free some space, or delete a run with 'rl-insight runs delete'; recorders deliver what they kept",
        )
    if collector.get("refused"):
        yield Finding(
            "warning",
            f"{collector['refused']:,} batches were refused as malformed since the server started",
            "the sender's log names line and field; is a recorder of another version running?",
        )
    if store.get("last_error"):
        yield Finding(
            "problem", f"the store does not keep up: {store['last_error']}", "see server.log in the data folder"
        )


def _records(folder: Path, client: Client | None) -> Iterator[Finding]:
    from rl_insight.cli.reader import ServerRows, reading
    from rl_insight.read.health import Health, health
    from rl_insight.schema import SCHEMA_VERSION

    try:
        if client is not None:
            found: Health = health(ServerRows(client))
        else:
            with reading(folder) as store:
                found = health(store)
    except Trouble as trouble:
        yield Finding("warning" if "no store" in trouble.what else "problem", trouble.what, trouble.do)
        return
    if not found.processes:
        yield Finding(
            "problem",
            "nothing is recorded: no process has ever sent a line",
            "call rl_insight.init() in the training code, and set RL_INSIGHT_SERVER_URL where it runs; "
            "rl_insight.status() in it says what the recorder is doing",
        )
        return
    age = span(max(0, time.time_ns() - (found.last_ts or 0)))
    yield Finding(
        "ok",
        f"{found.processes:,} processes recorded: {found.live:,} live, {found.finished:,} finished; "
        f"last line {age} ago",
    )
    if found.lost:
        yield Finding(
            "warning",
            f"{found.lost:,} processes went silent without finishing",
            "they were killed, or cannot reach the server; 'rl-insight runs' and 'rl-insight verify' tell more",
        )
    if found.clock_offset is not None and found.clock_offset > CLOCK_NANOS:
        yield Finding(
            "problem",
            f"the clock of {found.clock_host} is off by {span(found.clock_offset)}",
            "set up NTP (chrony, systemd-timesyncd) there",
        )
    ours = tuple(map(int, SCHEMA_VERSION.split(".")))
    for schema in found.schemas:
        theirs = tuple(map(int, schema.split("."))) if schema and schema.replace(".", "").isdigit() else None
        if theirs is None or theirs > ours:
            yield Finding(
                "warning",
                f"a recorder writes schema {schema}, this version knows {SCHEMA_VERSION}",
                "upgrade the server: new fields are kept in the log but not shown",
            )
        elif theirs < ours:
            yield Finding("warning", f"a recorder writes the old schema {schema}", "upgrade rl-insight where it trains")


def _spool(chosen: config.Config) -> Iterator[Finding]:
    root = Path(chosen.ship.spool_dir).expanduser() if chosen.ship.spool_dir else config.home() / "spool"
    waiting = [path.stat() for path in root.rglob("*.jsonl") if path.is_file()] if root.is_dir() else []
    total = sum(about.st_size for about in waiting)
    if total:
        oldest = span(time.time_ns() - min(about.st_mtime_ns for about in waiting))
        yield Finding(
            "warning",
            f"{size(total)} of lines wait in {root} to be delivered, the oldest for {oldest}",
            "they are sent by the next recorder on this machine that reaches the same server; is it reachable?",
        )


def _disk(folder: Path, chosen: config.Config) -> Iterator[Finding]:
    place = next(parent for parent in (folder, *folder.parents) if parent.exists())
    usage = shutil.disk_usage(place)
    floor = max(chosen.collector.min_free_bytes, int(usage.total * LOW_DISK))
    if usage.free < chosen.collector.min_free_bytes:
        yield Finding(
            "problem",
            f"the disk of {folder} is full: {size(usage.free)} free, "
            f"and the collector leaves {size(chosen.collector.min_free_bytes)}",
            "free some space; lines are refused until then, and recorders keep them",
        )
    elif usage.free < floor:
        yield Finding(
            "warning",
            f"the disk of {folder} is nearly full: {size(usage.free)} of {size(usage.total)} free",
            "free some space, delete runs, or set collector.retain_bytes or collector.retain_days",
        )
    else:
        yield Finding("ok", f"the disk of {folder} has room: {size(usage.free)} free")


_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "bold red")}


def show(findings: list[Finding]) -> None:
    """Print the findings, each with what to do."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    for finding in findings:
        mark, style = _MARKS[finding.level]
        console.print(Text.assemble((f"{mark} ", style), finding.what))
        if finding.do:
            console.print(Text.assemble(("    do: ", "bold"), finding.do))
    bad = sum(finding.level == "problem" for finding in findings)
    console.print(Text(f"{bad} problem{'s' if bad != 1 else ''} found" if bad else "no problems found"))


def show_settings(config_file: Path | None) -> None:
    """Print every setting, its value and where it came from."""
    import os

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    try:
        chosen, default = config.load(config_file), config.Config()
    except config.ConfigError:
        return
    variables = {path: name for name, path in config.ENVIRONMENT.items() if os.environ.get(name)}
    table = Table("setting", "value", "from", box=None, pad_edge=False, header_style="bold")
    for path, value in _flat(chosen):
        origin = variables.get(path) or (
            "default" if value == dict(_flat(default))[path] else str(config_file or "RL_INSIGHT_DISABLED")
        )
        secret = path.endswith("token") and value
        table.add_row(Text(path), Text("(set)" if secret else repr(value)), Text(origin))
    Console().print(table)


def _flat(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    import msgspec

    for field in msgspec.structs.fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, msgspec.Struct):
            yield from _flat(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", value
