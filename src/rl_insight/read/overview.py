"""Is the run healthy, and where does a step's time go?"""

from __future__ import annotations

import msgspec

from rl_insight.read.about import LATEST, about
from rl_insight.read.compose import records, structs
from rl_insight.read.flow import CAP, Funnel, sessions_of
from rl_insight.read.now import Rates, rates, usual_since
from rl_insight.read.rows import Rows
from rl_insight.read.scope import Scope
from rl_insight.read.steps import LAST, Share, between, latest, trainers


class StepBrief(msgspec.Struct):
    """A step at a glance."""

    step: int
    start: float | None
    step_s: float | None
    wait_ratio: float | None
    reward: float | None
    sessions: int | None
    outcome: str | None
    stack: list[Share]


class Curve(msgspec.Struct):
    """A metric by step."""

    name: str
    points: list[tuple[float, float | None]]


class Curves(msgspec.Struct):
    """The two that everyone looks at first."""

    reward: Curve | None = None
    loss: Curve | None = None


class Mishap(msgspec.Struct):
    """An error, and how often."""

    what: str
    at: float
    text: str
    worker: str | None
    count: int


class Loss(msgspec.Struct):
    """Lines of a process that are known to be missing: `dropped` by its recorder, or `hole`s in its numbering."""

    what: str
    worker: str
    proc: str
    lines: int
    reason: str | None


class Overview(msgspec.Struct):
    """A run at a glance. `sessions` is the funnel of the newest sessions."""

    run: str
    at: float
    project: str | None
    experiment: str | None
    state: str
    first: float
    last: float
    duration_s: float
    processes: int
    live_processes: int
    lost_processes: int
    lines: int
    lines_per_s: float
    step: int | None
    step_s: float | None
    wait_ratio: float | None
    reward: float | None
    zero_spread_share: float | None
    sessions: Funnel
    rates: Rates
    open_sessions: int
    suspects: int
    steps: list[StepBrief]
    curves: Curves
    errors: list[Mishap]
    steps_total: int | None = None
    losses: list[Loss] = []


def overview(source: Rows, run: str = LATEST, *, last: int = LAST, now: int | None = None) -> Overview:
    """One run at a glance: its newest steps, curves, rates, and what went wrong."""
    this = about(source, run, now)
    training = trainers(source, this)
    reached = latest(source, this, training).latest
    steps = between(source, this, training, reached - last + 1, reached) if reached is not None else []
    done = [step for step in steps if not step.open and step.step_s is not None]
    timed = done[-1] if done else None
    rewarded = [step for step in steps if step.reward is not None]
    recent = [step for step in steps[-10:] if step.tasks]
    tasks = sum(step.tasks or 0 for step in recent)
    open_now = records(source, "now_sessions", {**this.params, "most": 1, "usual_since": usual_since(source, this)})
    curves = {row["curve"]: msgspec.convert(row, Curve) for row in records(source, "curves", this.params)}
    duration = (this.last_ts - this.first_ts) / 1e9
    return Overview(
        this.run,
        this.at_ms,
        this.project,
        this.experiment,
        this.state,
        this.first_ts / 1e6,
        this.last_ts / 1e6,
        duration,
        this.processes,
        this.live_processes,
        this.lost_processes,
        this.lines,
        this.lines / max(duration, 1e-3),
        reached,
        timed.step_s if timed else None,
        timed.wait_ratio if timed else None,
        rewarded[-1].reward if rewarded else None,
        sum(step.zero_spread or 0 for step in recent) / tasks if tasks else None,
        sessions_of(source, this, Scope(), CAP).funnel,
        rates(source, this, training),
        open_now[0]["total"] if open_now else 0,
        open_now[0]["suspects"] if open_now else 0,
        [msgspec.convert(step, StepBrief, from_attributes=True) for step in steps],
        Curves(**curves),
        structs(source, "errors", Mishap, this.params),
        next((int(row["value"]) for row in records(source, "steps_total", this.params)), None),
        structs(source, "run_losses", Loss, this.params),
    )
