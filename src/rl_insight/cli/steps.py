"""`rl-insight steps`: where a step's time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rl_insight.cli.figures import AsJson, Run, asking, figure, grid, print_json, seconds, share, word
from rl_insight.cli.options import DataDir, Url
from rl_insight.cli.trouble import note

if TYPE_CHECKING:
    from rl_insight.read.steps import Steps

STATES = 6


def steps(
    last: Annotated[int, typer.Option(help="The newest so many.", min=1, max=1000)] = 20,
    from_step: Annotated[int | None, typer.Option("--from", help="From this step on.")] = None,
    to_step: Annotated[int | None, typer.Option("--to", help="Up to this step.")] = None,
    run: Run = "latest",
    as_json: AsJson = False,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Where does a step's time go, and what was in its batch?"""
    from rl_insight.read.steps import steps as read

    with asking(data_dir, url) as source:
        found = read(source, run, last=last, from_step=from_step, to_step=to_step)
    if as_json:
        print_json(found)
    else:
        show_steps(found)


def show_steps(found: Steps) -> None:
    """Print steps as a table."""
    from rich.console import Console

    if not found.steps:
        note(f"run {found.run} has no steps: set_step() in the trainer gives what it records a step")
        return
    table = grid(
        ">step", ">took", ">waiting", "where the time went", ">sessions", ">reward", ">flat", ">p50", ">p95",
        ">longest", ">tail 10%", ">stale", "slowest",
    )  # fmt: skip
    for step in found.steps:
        stack = ", ".join(f"{part.name} {seconds(part.s)}" for part in step.stack[:STATES])
        tail = step.tail[-1].wall_share if step.tail else None
        failed = step.outcome not in (None, "ok")
        table.add_row(
            word(f"{step.step}{'…' if step.open else ''}"),
            seconds(step.step_s),
            share(step.wait_ratio),
            word(f"{step.outcome}: {step.reason}; {stack}" if failed else stack, "red" if failed else ""),
            figure(step.sessions),
            figure(step.reward),
            figure(step.zero_spread),
            seconds(step.session_p50_s),
            seconds(step.session_p95_s),
            seconds(step.session_max_s),
            share(tail),
            figure(step.staleness, 1),
            word(f"{step.slowest.session} on {step.slowest.worker}" if step.slowest else None),
        )
    Console().print(table)
    note(
        f"trainer: {', '.join(found.trainer) or '–'}. flat: groups whose rewards are all the same. "
        "tail: share of the batch's time in which only its slowest tenth still ran."
    )
