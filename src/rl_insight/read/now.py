"""What is everyone doing now, and what is stuck?"""

from __future__ import annotations

import msgspec

from rl_insight.read.about import LATEST, About, about
from rl_insight.read.compose import records, structs
from rl_insight.read.rows import Rows
from rl_insight.read.steps import latest, trainers

MOST = 1_000
OVER_S = 60.0
USUAL_OVER_NS = 900 * 10**9


class LiveSession(msgspec.Struct):
    """A session under way. `usual_s` is what 95 of 100 stay below; `times_usual` its age in units of that."""

    session: str | None
    task: str | None
    stage: str | None
    stage_s: float | None
    age_s: float
    worker: str | None
    proc: str
    lane: str | None
    step: int | None
    weights: float | None
    usual_s: float | None
    stage_usual_s: float | None
    times_usual: float | None
    suspect: bool
    lost: bool
    why: str | None


class LiveTask(msgspec.Struct):
    """A task under way; `stage` is the innermost thing open in it."""

    task: str
    stage: str | None
    sessions: int
    open_sessions: int
    age_s: float
    worker: str | None
    proc: str
    step: int | None
    usual_s: float | None
    times_usual: float | None
    suspect: bool
    lost: bool
    why: str | None


class LiveStage(msgspec.Struct):
    """How many sessions are in a stage; `stage` is None for those in no phase."""

    stage: str | None
    sessions: int
    oldest_s: float


class LiveLane(msgspec.Struct):
    """What a lane is doing, or did last."""

    worker: str | None
    proc: str
    lane: str | None
    state: str
    since: float
    s: float
    open: bool
    wait: bool
    lost: bool


class LostProcess(msgspec.Struct):
    """A process that fell silent without a farewell."""

    worker: str
    proc: str
    host: str | None
    pid: int | None
    last: float
    silent_s: float
    open_sessions: int


class Rates(msgspec.Struct):
    """How fast the run goes, over the last `over_s` seconds."""

    sessions_per_s: float
    tokens_per_s: float | None
    steps_per_min: float
    over_s: float


class Live(msgspec.Struct):
    """A run as it is now; suspects come first."""

    run: str
    at: float
    state: str
    step: int | None
    open_sessions: int
    open_tasks: int
    suspects: int
    stages: list[LiveStage]
    sessions: list[LiveSession]
    tasks: list[LiveTask]
    lanes: list[LiveLane]
    lost: list[LostProcess]
    rates: Rates


def live(source: Rows, run: str = LATEST, *, limit: int = 200, now: int | None = None) -> Live:
    """Current stage and age of every open task and session, what every lane is doing, and who is gone."""
    this = about(source, run, now)
    params = {**this.params, "most": limit, "usual_since": usual_since(source, this)}
    training = trainers(source, this)
    sessions = records(source, "now_sessions", params)
    tasks = records(source, "now_tasks", params)
    return Live(
        this.run,
        this.at_ms,
        this.state,
        latest(source, this, training).latest,
        sessions[0]["total"] if sessions else 0,
        tasks[0]["total"] if tasks else 0,
        sessions[0]["suspects"] if sessions else 0,
        structs(source, "now_stages", LiveStage, params),
        [msgspec.convert(row, LiveSession) for row in sessions],
        [msgspec.convert(row, LiveTask) for row in tasks],
        structs(source, "now_lanes", LiveLane, params),
        structs(source, "now_lost", LostProcess, params),
        rates(source, this, training),
    )


def usual_since(source: Rows, this: About) -> int:
    """From when on finished work tells what is usual: the quarter of an hour before the newest session."""
    (newest,) = records(source, "newest_session", this.params)
    return int(newest["ts"]) - USUAL_OVER_NS


def rates(source: Rows, this: About, training: list[str], over_s: float = OVER_S) -> Rates:
    """How fast the run goes; a run younger than that is measured over its whole life."""
    lived = max((this.at - this.first_ts) / 1e9, 1e-3)
    params = {**this.params, "trainers": training, "over_s": min(over_s, lived)}
    (found,) = records(source, "now_rates", params)
    return msgspec.convert({**found, "over_s": params["over_s"]}, Rates)
