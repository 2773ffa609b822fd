"""The demo's live view: what the server knows of the run, on a terminal or as a line now and then."""

from __future__ import annotations

import time
from collections import defaultdict
from itertools import pairwise
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rl_insight.cli.client import Client
from rl_insight.cli.reader import ServerRows
from rl_insight.read.live import Lane, lanes, open_sessions, rates, series

BLOCKS = "▁▂▃▄▅▆▇█"
COLOURS = {
    "generate": "green",
    "tool": "yellow",
    "reward": "magenta",
    "score": "magenta",
    "train": "green",
    "sync_weights": "blue",
    "evaluate": "cyan",
    "checkpoint": "cyan",
}
REFRESH_SECONDS = 0.5
LINE_SECONDS = 5.0
OLDEST = 6


def sparkline(values: list[float], width: int = 60) -> str:
    """Values between 0 and 1 as a row of blocks, averaged down to `width`."""
    if len(values) > width:
        edges = [round(index * len(values) / width) for index in range(width + 1)]
        values = [sum(values[left:right]) / (right - left) for left, right in pairwise(edges)]
    return "".join(BLOCKS[min(len(BLOCKS) - 1, max(0, int(value * len(BLOCKS))))] for value in values)


class View:
    """Asks the server and shows the answers; `show` wants to be called again after `every` seconds."""

    def __init__(self, source: ServerRows, client: Client, run: str, steps: int) -> None:
        self.source = source
        self.client = client
        self.run = run
        self.steps = steps
        self.console = Console()
        self.live: Live | None = None
        self.started = time.monotonic()
        self.every = REFRESH_SECONDS if self.console.is_terminal else LINE_SECONDS
        self.accepted: tuple[float, int] | None = None
        self.lines_per_second = 0.0

    def __enter__(self) -> View:
        if self.console.is_terminal:
            self.live = Live(console=self.console, auto_refresh=False)
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self) -> None:
        self._measure()
        if self.live is not None:
            self.live.update(self._page(), refresh=True)
        else:
            self.console.print(self._line(), soft_wrap=True, highlight=False)

    def _measure(self) -> None:
        accepted, now = int(self.client.get("/api/v1/status")["collector"]["accepted"]), time.monotonic()
        if self.accepted is not None:
            before, accepted_before = self.accepted
            self.lines_per_second = (accepted - accepted_before) / max(now - before, 1e-3)
        self.accepted = (now, accepted)

    def _numbers(self) -> dict[str, Any]:
        rewards = series(self.source, self.run, "reward_mean")
        evaluations = series(self.source, self.run, "eval_solved_rate")
        moving = {rate.name: rate.per_second for rate in rates(self.source, self.run)}
        return {
            "step": rewards[-1].step if rewards else 0,
            "rewards": [point.value or 0.0 for point in rewards],
            "evaluation": evaluations[-1].value if evaluations else None,
            "tokens": moving.get("rollout_tokens", 0.0),
            "sessions": moving.get("rollout_sessions", 0.0),
        }

    def _line(self) -> str:
        numbers = self._numbers()
        reward = f"{numbers['rewards'][-1]:.2f}" if numbers["rewards"] else "–"
        oldest = open_sessions(self.source, self.run)[:1]
        age = f"{(time.time_ns() - oldest[0].since) / 1e9:.1f} s" if oldest else "–"
        return (
            f"{time.monotonic() - self.started:4.0f} s  step {numbers['step']}/{self.steps}  reward {reward}  "
            f"{numbers['sessions']:.0f} sessions/s  {numbers['tokens']:.0f} tokens/s  oldest session {age}  "
            f"{self.lines_per_second:,.0f} lines/s"
        )

    def _page(self) -> RenderableType:
        numbers = self._numbers()
        rewards = numbers["rewards"]
        head = Table(show_header=False, box=None, pad_edge=False)
        head.add_row("[bold]run[/bold]", self.run, f"{time.monotonic() - self.started:.0f} s")
        head.add_row("[bold]step[/bold]", f"{numbers['step']}/{self.steps}", "")
        head.add_row("[bold]reward[/bold]", Text(sparkline(rewards), "green"), f"{rewards[-1]:.2f}" if rewards else "–")
        solved = numbers["evaluation"]
        head.add_row(
            "[bold]evaluation[/bold]", "–" if solved is None else f"{solved:.0%} of held-out puzzles solved", ""
        )
        head.add_row(
            "[bold]rates[/bold]",
            f"{numbers['sessions']:.0f} sessions/s   {numbers['tokens']:.0f} tokens/s   "
            f"{self.lines_per_second:,.0f} recorded lines/s",
            "",
        )
        return Group(head, Text(), self._lanes(), Text(), self._sessions())

    def _lanes(self) -> RenderableType:
        groups: dict[str, list[Lane]] = defaultdict(list)
        for lane in lanes(self.source, self.run):
            name, _, slot = (lane.lane or "?").partition("/")
            if slot or name not in groups:
                groups[name].append(lane)
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("process")
        table.add_column("is doing")
        for name, members in sorted(groups.items()):
            doing = Text()
            for lane in (member for member in members if "/" in (member.lane or "") or len(members) == 1):
                age = (time.time_ns() - lane.since) / 1e9
                told = f"{lane.state} {age:.0f} s" if lane.running and age >= 2 else lane.state
                doing.append(f"{told:<16}", COLOURS.get(lane.state, "dim"))
            table.add_row(name, doing)
        return table

    def _sessions(self) -> RenderableType:
        found = open_sessions(self.source, self.run)
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("open session", "worker", "phase", "age"):
            table.add_column(column, justify="right" if column == "age" else "left")
        now = time.time_ns()
        for session in found[:OLDEST]:
            age = (now - session.since) / 1e9
            phase = " ".join(part for part in (session.phase, session.tool) if part)
            worker = "–" if session.rank is None else str(session.rank)
            table.add_row(
                session.session or "?", worker, phase or "–", Text(f"{age:.1f} s", "bold red" if age > 5 else "")
            )
        if len(found) > OLDEST:
            table.add_row(f"… and {len(found) - OLDEST} more", "", "", "")
        return table
