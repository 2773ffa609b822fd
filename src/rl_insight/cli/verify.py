"""`rl-insight verify`: is everything that was recorded here, once?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from rl_insight.cli.options import DataDir, Url, resolve
from rl_insight.cli.trouble import Trouble, note

if TYPE_CHECKING:
    from rl_insight.read.verify import Verdict

CLEAN, PROBLEMS, CANNOT_TELL = 0, 1, 2


def verify(
    run: Annotated[str | None, typer.Argument(help="Only this run.", show_default="all runs")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Look for holes, duplicates, losses and unreadable lines.

    Exit code 0: everything recorded is here, once. 1: something is missing or double. 2: cannot tell.
    """
    from rl_insight.cli.client import running
    from rl_insight.cli.reader import reading, up_to_date
    from rl_insight.read.verify import verify as read_verdict

    folder = resolve(data_dir)
    try:
        if url is None and running(folder) is None:
            with up_to_date(folder) as store:
                verdict = read_verdict(store, run)
        else:
            with reading(folder, url) as store:
                verdict = read_verdict(store, run)
    except Trouble as trouble:
        trouble.code = CANNOT_TELL
        raise
    if as_json:
        import msgspec

        print(json.dumps(msgspec.to_builtins(verdict), indent=1))
    else:
        show(verdict)
    if not verdict.processes:
        note("nothing is recorded here, so there is nothing to verify" if run is None else f"there is no run {run!r}")
        raise typer.Exit(CANNOT_TELL)
    raise typer.Exit(CLEAN if verdict.clean else PROBLEMS)


def show(verdict: Verdict) -> None:
    """Print what was found, and the verdict last."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if verdict.findings:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("what", "run", "process", "lines", "detail"):
            table.add_column(column, overflow="fold", justify="right" if column == "lines" else "left")
        for finding in verdict.findings:
            table.add_row(
                Text(finding.what),
                Text(finding.run or "–"),
                Text(finding.proc or "–"),
                f"{finding.lines:,}",
                Text(finding.detail),
            )
        console.print(table)
        if verdict.more:
            console.print(f"… and {verdict.more:,} more findings")
    looked = f"{verdict.lines:,} lines of {verdict.processes:,} processes in {verdict.runs:,} runs"
    if verdict.clean:
        console.print(f"[green]clean[/green]: {looked}; no holes, no duplicates, no losses")
    else:
        console.print(f"[red]not clean[/red]: {looked}; {verdict.summary}")
