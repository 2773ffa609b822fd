"""The demo's live view: what the server knows of the run, on a terminal or as a line now and then."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live as Screen
from rich.table import Table
from rich.text import Text

from rl_insight.cli.client import Client
from rl_insight.cli.reader import ServerRows
from rl_insight.read.about import NoSuchRun
from rl_insight.read.metrics import NoSuchMetric, course
from rl_insight.read.now import Live as Now
from rl_insight.read.now import LiveLane, live

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
REFRESH_SECONDS = 1.0
LINE_SECONDS = 5.0
OLDEST = 6


def sparkline(values: list[float], width: int = 60) -> str:
    """Values between 0 and 1 as a row of blocks, averaged down to `width`."""
    if len(values) > width:
        edges = [round(index * len(values) / width) for index in range(width + 1)]
        values = [sum(values[left:right]) / (right - left) for left, right in pairwise(edges)]
    return "".join(BLOCKS[min(len(BLOCKS) - 1, max(0, int(value * len(BLOCKS))))] for value in values)


@dataclass(frozen=True)
class Seen:
    """What the server knows of the run; `now` is None until it has heard of it. Series are by step."""

    now: Now | None
    rewards: list[tuple[int, float]]
    evaluations: list[tuple[int, float]]

    @property
    def step(self) -> int:
        return self.rewards[-1][0] if self.rewards else 0

    @property
    def reward(self) -> str:
        return f"{self.rewards[-1][1]:.2f}" if self.rewards else "–"

    @property
    def rates(self) -> str:
        if self.now is None:
            return "nothing heard yet"
        rates = self.now.rates
        return f"{rates.sessions_per_s:.0f} sessions/s  {rates.tokens_per_s or 0:.0f} tokens/s"


class View:
    """Asks the server and shows the answers; `show` wants to be called again after `every` seconds."""

    def __init__(self, source: ServerRows, client: Client, run: str, steps: int) -> None:
        self.source = source
        self.client = client
        self.run = run
        self.steps = steps
        self.console = Console()
        self.screen: Screen | None = None
        self.started = time.monotonic()
        self.every = REFRESH_SECONDS if self.console.is_terminal else LINE_SECONDS
        self.accepted: tuple[float, int] | None = None
        self.lines_per_second = 0.0

    def __enter__(self) -> View:
        if self.console.is_terminal:
            self.screen = Screen(console=self.console, auto_refresh=False)
            self.screen.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.screen is not None:
            self.screen.stop()

    def show(self) -> None:
        self._measure()
        if self.screen is not None:
            self.screen.update(self._page(), refresh=True)
        else:
            self.console.print(self._line(), soft_wrap=True, highlight=False)

    def _measure(self) -> None:
        accepted, now = int(self.client.get("/api/v1/status")["collector"]["accepted"]), time.monotonic()
        if self.accepted is not None:
            before, accepted_before = self.accepted
            self.lines_per_second = (accepted - accepted_before) / max(now - before, 1e-3)
        self.accepted = (now, accepted)

    def _look(self) -> Seen:
        try:
            now = live(self.source, self.run, limit=OLDEST)
        except NoSuchRun:
            return Seen(None, [], [])
        return Seen(now, self._series("reward_mean"), self._series("eval_solved_rate"))

    def _series(self, name: str) -> list[tuple[int, float]]:
        try:
            found = course(self.source, self.run, name)
        except NoSuchMetric:
            return []
        return [(int(step), value or 0.0) for step, value in zip(found.x, found.series[0].values, strict=True)]

    def _line(self) -> str:
        seen = self._look()
        oldest = max((session.age_s for session in seen.now.sessions), default=None) if seen.now else None
        return (
            f"{time.monotonic() - self.started:4.0f} s  step {seen.step}/{self.steps}  reward {seen.reward}  "
            f"{seen.rates}  oldest session {'–' if oldest is None else f'{oldest:.1f} s'}  "
            f"{self.lines_per_second:,.0f} lines/s"
        )

    def _page(self) -> RenderableType:
        seen = self._look()
        solved = f"{seen.evaluations[-1][1]:.0%} of held-out puzzles solved" if seen.evaluations else "–"
        head = Table(show_header=False, box=None, pad_edge=False)
        head.add_row("[bold]run[/bold]", self.run, f"{time.monotonic() - self.started:.0f} s")
        head.add_row("[bold]step[/bold]", f"{seen.step}/{self.steps}", "")
        head.add_row("[bold]reward[/bold]", Text(sparkline([value for _, value in seen.rewards]), "green"), seen.reward)
        head.add_row("[bold]evaluation[/bold]", solved, "")
        head.add_row("[bold]rates[/bold]", f"{seen.rates}   {self.lines_per_second:,.0f} recorded lines/s", "")
        if seen.now is None:
            return head
        return Group(head, Text(), lanes_of(seen.now), Text(), sessions_of(seen.now))


def lanes_of(now: Now) -> RenderableType:
    """What every process is doing, lane by lane."""
    groups: dict[str, list[LiveLane]] = defaultdict(list)
    for lane in now.lanes:
        name, _, slot = (lane.lane or "?").partition("/")
        if slot or name not in groups:
            groups[name].append(lane)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("process")
    table.add_column("is doing")
    for name, members in sorted(groups.items()):
        doing = Text()
        for lane in (member for member in members if "/" in (member.lane or "") or len(members) == 1):
            told = f"{lane.state} {lane.s:.0f} s" if lane.open and lane.s >= 2 else lane.state
            doing.append(f"{told:<16}", COLOURS.get(lane.state, "dim"))
        table.add_row(name, doing)
    return table


def sessions_of(now: Now) -> RenderableType:
    """Some of the sessions under way, suspects first."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("open session", "worker", "phase", "age"):
        table.add_column(column, justify="right" if column == "age" else "left")
    for session in now.sessions:
        age = Text(f"{session.age_s:.1f} s", "bold red" if session.suspect else "")
        table.add_row(session.session or "?", session.worker or "–", session.stage or "–", age)
    if now.open_sessions > len(now.sessions):
        table.add_row(f"… and {now.open_sessions - len(now.sessions)} more", "", "", "")
    return table
