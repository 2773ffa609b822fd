"""`rl-insight hotspots`: which stage costs most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rl_insight.cli.figures import AsJson, Run, asking, grid, print_json, seconds, share, word
from rl_insight.cli.options import DataDir, Url
from rl_insight.cli.trouble import note

if TYPE_CHECKING:
    from rl_insight.read.hotspots import Hotspots


def hotspots(
    everything: Annotated[
        bool, typer.Option("--all", help="The whole run, not only the latest complete step.")
    ] = False,
    step: Annotated[int | None, typer.Option(help="Only this step.")] = None,
    name: Annotated[str | None, typer.Option(help="Only stages whose name begins so.")] = None,
    part: Annotated[str | None, typer.Option(help="Only state, task, session, turn, phase or span.")] = None,
    worker: Annotated[str | None, typer.Option(help="Only processes whose role and rank begin so.")] = None,
    lane: Annotated[str | None, typer.Option(help="Only this lane.")] = None,
    by: Annotated[str, typer.Option(help="name, worker, lane, or attr:KEY, e.g. attr:tool.")] = "name",
    sort: Annotated[str, typer.Option(help="self, total, count, avg, p50, p95, p99, max, errors.")] = "self",
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=500)] = 30,
    run: Run = "latest",
    as_json: AsJson = False,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Which stage costs most?"""
    from rl_insight.read.hotspots import hotspots as read

    with asking(data_dir, url) as source:
        found = read(
            source,
            run,
            scope="all" if everything else "step",
            step=step,
            name=name,
            part=part,
            worker=worker,
            lane=lane,
            by=by,
            sort=sort,
            limit=limit,
        )
    if as_json:
        print_json(found)
    else:
        show_hotspots(found)


def show_hotspots(found: Hotspots) -> None:
    """Print stages as a table."""
    from rich.console import Console

    table = grid(
        "stage", "part", "of", ">count", ">total", ">self", ">share", ">avg", ">p50", ">p95", ">p99", ">max", ">errors",
        "slowest",
    )  # fmt: skip
    for stage in found.stages:
        slowest = stage.slowest
        table.add_row(
            word(stage.name),
            word(stage.part),
            word(stage.by),
            f"{stage.count:,}",
            seconds(stage.total_s),
            seconds(stage.self_s),
            share(stage.share),
            seconds(stage.avg_s),
            seconds(stage.p50_s),
            seconds(stage.p95_s),
            seconds(stage.p99_s),
            seconds(stage.max_s),
            word(f"{stage.errors:,}", "red" if stage.errors else ""),
            word(" on ".join(one for one in (slowest.session or slowest.task, slowest.worker) if one)),
        )
    Console().print(table)
    steps = found.scope.steps
    where = (
        "the whole run"
        if steps is None
        else f"step {steps[0]}"
        if steps[0] == steps[1]
        else f"steps {steps[0]} to {steps[1]}"
    )
    sampled = "" if found.sampled == 1 else f"; self times from {found.sampled:.1%} of the traces"
    note(
        f"{found.spans:,} spans of {where} of run {found.run}{sampled}. "
        "Shares are of the self time, states by themselves."
    )
