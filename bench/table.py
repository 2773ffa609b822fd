"""The results, for people and for programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench.child import ROOT
from bench.goals import GOALS
from bench.row import Row

RESULTS = ROOT / "bench" / "results"


def show(rows: Sequence[Row], peers: Mapping[str, str], about: Mapping[str, str]) -> None:
    """Print one table. `peers` maps a peer to what to say of it: its version, or why it is not available."""
    console = Console(width=None if sys.stdout.isatty() else 150 + 16 * len(peers))
    table = Table(title="RL-Insight: what it costs", title_justify="left")
    for heading in ("what", "measured", "range", "floor", "× floor", "goal", "met"):
        table.add_column(heading, justify="left" if heading == "what" else "right", no_wrap=True)
    for peer in peers:
        table.add_column(peer, justify="right", no_wrap=True)
    previous = rows[0].bench if rows else ""
    for row in rows:
        if row.bench != previous:
            table.add_section()
            previous = row.bench
        table.add_row(
            row.name,
            "not measured" if row.skipped else f"[bold]{figure(row.value, row.unit)}[/bold]",
            "" if row.low is None or row.high is None else f"{plain(row.low)} … {plain(row.high)}",
            figure(row.floor.value, row.unit) if row.floor else "",
            f"{row.times_floor:.1f}" if row.times_floor is not None else "",
            goal(row),
            {True: "[green]yes[/green]", False: "[red]no[/red]", None: ""}[row.met],
            *(figure(row.peers[peer], row.unit) if peer in row.peers else "–" for peer in peers),
        )
    console.print(table)
    for row in rows:
        if row.note and row.note != "floor":
            console.print(f"  {row.name}: {row.note}", highlight=False)
    for peer, said in peers.items():
        console.print(f"  {peer}: {said}", highlight=False)
    console.print("  " + ", ".join(f"{key} {value}" for key, value in about.items()), highlight=False)


def as_json(rows: Sequence[Row], peers: Mapping[str, str], about: Mapping[str, str]) -> str:
    """The same for programs."""

    def plain_row(row: Row) -> dict[str, Any]:
        return {**msgspec.to_builtins(row), "goal": row.goal, "met": row.met}

    whole = {"machine": dict(about), "peers": dict(peers), "rows": [plain_row(row) for row in rows]}
    return json.dumps(whole, indent=1, ensure_ascii=False)


def save(text: str) -> None:
    """Keep the results under their time, and as the latest ones."""
    RESULTS.mkdir(exist_ok=True)
    for name in (time.strftime("%Y%m%d-%H%M%S"), "latest"):
        (RESULTS / f"{name}.json").write_text(text + "\n")


def goal(row: Row) -> str:
    """The goal with its direction."""
    if row.goal is None:
        return ""
    return f"{'≥' if GOALS[row.name].at_least else '≤'} {figure(row.goal, row.unit)}"


def figure(value: float, unit: str) -> str:
    """A number with its unit; nanoseconds beyond a few thousand are microseconds to a reader."""
    if unit == "ns" and value >= 10_000:
        return f"{plain(value / 1e3)} µs"
    return f"{plain(value)} {unit}"


def plain(value: float) -> str:
    """Three or so digits that mean something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
