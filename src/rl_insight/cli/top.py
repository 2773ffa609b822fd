"""`rl-insight top`: what everyone is doing now, and what is stuck."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rl_insight.cli.figures import AsJson, Run, asking, figure, grid, print_json, seconds, word
from rl_insight.cli.options import DataDir, Url

if TYPE_CHECKING:
    from rl_insight.read.now import Live

LANES = 40


def top(
    once: Annotated[bool, typer.Option("--once", help="Print one picture and end.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between pictures.", min=0.2)] = 1.0,
    limit: Annotated[int, typer.Option(help="At most so many tasks and sessions each.", min=1, max=1000)] = 15,
    run: Run = "latest",
    as_json: AsJson = False,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """What is everybody doing right now? Suspects first, then the oldest; Ctrl-C ends it."""
    from rich.console import Console
    from rich.live import Live as Screen

    from rl_insight.read.now import live as read

    console = Console()
    if once or as_json or not console.is_terminal:
        with asking(data_dir, url) as source:
            found = read(source, run, limit=limit)
        if as_json:
            print_json(found)
        else:
            console.print(picture(found, limit))
        return
    with Screen(console=console, screen=True, auto_refresh=False) as screen:
        try:
            while True:
                # Opened anew each time: a server may come or go, and a file must not stay locked.
                with asking(data_dir, url) as source:
                    screen.update(picture(read(source, run, limit=limit), limit), refresh=True)
                time.sleep(every)
        except KeyboardInterrupt:
            pass


def picture(found: Live, limit: int) -> Any:
    """A run as it is now, for a terminal."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [_head(found)]
    if found.lost:
        gone = ", ".join(
            f"{one.worker} ({seconds(one.silent_s)} ago, {one.open_sessions} sessions open)" for one in found.lost
        )
        parts.append(word(f"lost: {gone}", "bold red"))
    for table in (_sessions(found, limit), _tasks(found, limit), _lanes(found)):
        if table.row_count:
            parts += [Text(), table]
    return Group(*parts)


def _head(found: Live) -> Any:
    from rich.text import Text

    rates = found.rates
    colour = {"live": "green", "lost": "red"}.get(found.state, "")
    stages = ", ".join(f"{stage.sessions} {stage.stage or 'between phases'}" for stage in found.stages)
    return Text.assemble(
        ("run ", "bold"),
        found.run,
        " ",
        (found.state, colour),
        ("   step ", "bold"),
        figure(found.step),
        f"   {rates.steps_per_min:.1f} steps/min   {rates.sessions_per_s:.1f} sessions/s",
        "" if rates.tokens_per_s is None else f"   {rates.tokens_per_s:,.0f} tokens/s",
        ("\nopen ", "bold"),
        f"{found.open_tasks} tasks, {found.open_sessions} sessions" + (f": {stages}" if stages else ""),
        (f"   {found.suspects} suspect" if found.suspects else "", "bold red"),
    )


def _sessions(found: Live, limit: int) -> Any:
    table = grid("session", "stage", ">in stage", ">age", ">times usual", "worker", ">weights", "")
    for one in found.sessions[:limit]:
        table.add_row(
            word(one.session, "red" if one.suspect else ""),
            word(one.stage),
            seconds(one.stage_s),
            seconds(one.age_s),
            figure(one.times_usual, 1),
            word(one.worker),
            figure(one.weights),
            word(one.why or " ", "red"),
        )
    if found.open_sessions > limit:
        table.add_row(f"… and {found.open_sessions - limit} more")
    return table


def _tasks(found: Live, limit: int) -> Any:
    table = grid("task", "stage", ">open sessions", ">age", ">times usual", "worker", "")
    for one in found.tasks[:limit]:
        table.add_row(
            word(one.task, "red" if one.suspect else ""),
            word(one.stage),
            f"{one.open_sessions} of {one.sessions}",
            seconds(one.age_s),
            figure(one.times_usual, 1),
            word(one.worker),
            word(one.why or " ", "red"),
        )
    if found.open_tasks > limit:
        table.add_row(f"… and {found.open_tasks - limit} more")
    return table


def _lanes(found: Live) -> Any:
    table = grid("lane", "of", "state", ">for")
    for lane in found.lanes[:LANES]:
        style = "red" if lane.lost else "dim" if lane.wait or not lane.open else ""
        table.add_row(
            word(lane.lane),
            word(lane.worker),
            word(lane.state + ("" if lane.open else ", over"), style),
            seconds(lane.s),
        )
    if len(found.lanes) > LANES:
        table.add_row(f"… and {len(found.lanes) - LANES} more")
    return table
