"""`rl-insight runs [list|delete]`: which runs there are, and away with one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from rl_insight.cli.options import DataDir, Url, resolve
from rl_insight.cli.text import moment, span
from rl_insight.cli.trouble import Trouble, note

if TYPE_CHECKING:
    from rl_insight.read.runs import Run

runs_app = typer.Typer(help="List the runs, or delete one.", invoke_without_command=True)


@runs_app.callback()
def runs(context: typer.Context, data_dir: DataDir = None, url: Url = None) -> None:
    """List the runs in the store."""
    context.obj = data_dir
    if context.invoked_subcommand is None:
        list_runs(data_dir, url)


@runs_app.command("list")
def list_command(
    context: typer.Context,
    data_dir: DataDir = None,
    url: Url = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the runs: state, when, how many processes and lines."""
    list_runs(data_dir or context.obj, url, as_json=as_json)


@runs_app.command()
def delete(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="The run's id, as 'rl-insight runs' prints it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Delete a run from the store and its lines from the log. There is no way back."""
    from rl_insight.cli.client import Refused, running

    folder = resolve(data_dir or context.obj)
    if not yes and not typer.confirm(f"Delete run {run!r} and all its lines from {folder}?"):
        raise Trouble("nothing was deleted")
    client = running(folder)
    if client is not None:
        client.timeout = 3600.0
        try:
            lines = client.delete(f"/api/v1/runs/{quote(run, safe='')}")["lines"]
        except Refused as refused:
            raise Trouble(refused.what, "'rl-insight runs' lists the runs") from None
    else:
        lines = _delete_here(folder, run)
    note(f"deleted run {run!r}: {lines:,} lines")


def _delete_here(folder: Path, run: str) -> int:
    from rl_insight.serve.service import offline

    with offline(folder) as service:
        deleted = service.delete_run(run)
    if deleted is None:
        raise Trouble(f"there is no run {run!r} in {folder}", "'rl-insight runs' lists the runs")
    return deleted


def list_runs(data_dir: Path | None, url: str | None, *, as_json: bool = False) -> None:
    import msgspec

    from rl_insight.cli.reader import reading
    from rl_insight.read.runs import runs as read_runs

    with reading(resolve(data_dir), url) as store:
        found = read_runs(store)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
        return
    show_runs(found)


def show_runs(found: list[Run]) -> None:
    """Print runs as a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not found:
        note("no runs yet; RL_INSIGHT_SERVER_URL tells a training process where to send its lines")
        return
    colours = {"live": "green", "lost": "red"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("run", "state", "project", "experiment", "started", "lasted", "last line"):
        table.add_column(column, overflow="fold")
    for column in ("step", "processes", "lines"):
        table.add_column(column, justify="right")
    now = time.time_ns()
    for run in found:
        table.add_row(
            Text(run.run),
            Text(run.state, style=colours.get(run.state, "")),
            Text(run.project or "–"),
            Text(run.experiment or "–"),
            moment(run.first_ts),
            span(run.last_ts - run.first_ts if run.first_ts is not None and run.last_ts is not None else None),
            f"{span(max(now - run.last_ts, 0))} ago" if run.last_ts else "–",
            "–" if run.step is None else str(run.step),
            f"{run.live_processes}/{run.processes} live" if run.state == "live" else str(run.processes),
            f"{run.lines:,}",
        )
    Console().print(table)
