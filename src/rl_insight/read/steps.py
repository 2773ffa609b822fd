"""Where does a step's time go, and what was in its batch?"""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight.read.about import LATEST, About, about
from rl_insight.read.compose import records, structs
from rl_insight.read.rows import Rows
from rl_insight.read.scope import Scope
from rl_insight.read.sessions import CAP, Session, sessions

LAST = 100
MOST = 1_000


class Share(msgspec.Struct):
    """How long the trainer's lanes were in a state, each."""

    name: str
    s: float
    wait: bool


class Tail(msgspec.Struct):
    """What the slowest so many per cent of a batch's sessions cost."""

    percent: int
    sessions: int
    wall_share: float | None
    time_share: float | None


class Slowest(msgspec.Struct):
    """The session that took longest."""

    session: str
    worker: str | None
    total_s: float


class Version(msgspec.Struct):
    """How many sessions were generated with which weights."""

    weights: float
    sessions: int
    staleness: float | None


class Step(msgspec.Struct, kw_only=True):
    """One training step: its time on the trainer's lanes, and its batch where that is known."""

    step: int
    start: float | None = None
    end: float | None = None
    step_s: float | None = None
    lanes: int = 0
    open: bool = False
    outcome: str | None = None
    reason: str | None = None
    stack: list[Share] = []
    unaccounted_s: float | None = None
    wait_s: float | None = None
    wait_ratio: float | None = None
    tasks: int | None = None
    sessions: int | None = None
    reward: float | None = None
    reward_std: float | None = None
    tokens: float | None = None
    zero_spread: int | None = None
    queue_s: float | None = None
    generate_s: float | None = None
    tool_s: float | None = None
    reward_s: float | None = None
    other_s: float | None = None
    idle_s: float | None = None
    session_p50_s: float | None = None
    session_p95_s: float | None = None
    session_max_s: float | None = None
    wall_s: float | None = None
    tail: list[Tail] = []
    slowest: Slowest | None = None
    staleness: float | None = None
    staleness_max: float | None = None
    versions: list[Version] = []


class Steps(msgspec.Struct):
    """Some steps, and the processes that count as trainer."""

    run: str
    at: float
    trainer: list[str]
    steps: list[Step]


class InBatch(Session):
    """A session of a batch, with its phases and its time in the queue as `(stage, start, end, weights)`."""

    intervals: list[tuple[str, float, float, float | None]] = []


class Anatomy(msgspec.Struct):
    """A step and the sessions of its batch."""

    run: str
    at: float
    step: Step | None
    total: int
    sessions: list[InBatch]


class Latest(msgspec.Struct):
    """How far the training has come."""

    first: int | None
    latest: int | None
    complete: int | None


def trainers(source: Rows, this: About) -> list[str]:
    """The processes that train."""
    return sorted(row["proc"] for row in records(source, "trainers", this.params))


def latest(source: Rows, this: About, training: list[str]) -> Latest:
    """The newest step, and the newest that is over."""
    (found,) = structs(source, "latest_step", Latest, {**this.params, "trainers": training})
    return found


def steps(
    source: Rows,
    run: str = LATEST,
    *,
    last: int = LAST,
    from_step: int | None = None,
    to_step: int | None = None,
    now: int | None = None,
) -> Steps:
    """The newest steps, or those from one to another; at most 1000."""
    this = about(source, run, now)
    training = trainers(source, this)
    reached = latest(source, this, training).latest
    names = records(source, "workers", this.params)
    called = {row["proc"]: str(row["worker"]) for row in names}
    low, high = _range(reached, last, from_step, to_step)
    found = between(source, this, training, low, high) if reached is not None else []
    return Steps(this.run, this.at_ms, [called.get(proc, proc) for proc in training], found)


def _range(reached: int | None, last: int, from_step: int | None, to_step: int | None) -> tuple[int, int]:
    high = to_step if to_step is not None else (reached or 0)
    low = from_step if from_step is not None else high - last + 1
    return max(low, high - MOST + 1), high


def between(source: Rows, this: About, training: list[str], low: int, high: int) -> list[Step]:
    """The steps from `low` to `high`, of which something is known."""
    scope = Scope(steps=(low, high))
    params = {**this.params, **scope.params, "trainers": training, "cap": CAP}
    timed = {row["step"]: row for row in records(source, "step_times", params)}
    batches = {row["step"]: row for row in records(source, "step_batches", params, scope.fills)}
    return [
        msgspec.convert({**batches.get(step, {}), **timed.get(step, {})}, Step) for step in sorted({*timed, *batches})
    ]


def anatomy(source: Rows, step: int, run: str = LATEST, *, now: int | None = None) -> Anatomy:
    """One step and the sessions that were in its batch, by start."""
    this = about(source, run, now)
    found = between(source, this, trainers(source, this), step, step)
    page = sessions(source, this.run, step=step, sort="+start", limit=MOST, now=this.now)
    rows = records(source, "intervals", {**this.params, "sessions": [one.session for one in page.sessions]})
    intervals = {row["session"]: row["intervals"] for row in rows}
    members = [
        msgspec.convert(
            {**msgspec.structs.asdict(one), "intervals": _with_queue(one, intervals)}, InBatch, from_attributes=True
        )
        for one in page.sessions
    ]
    return Anatomy(this.run, this.at_ms, found[0] if found else None, page.total, members)


def _with_queue(one: Session, intervals: dict[str, list[Any]]) -> list[Any]:
    phases = [
        (found["stage"], found["start"], found["end"], found["weights"]) for found in intervals.get(one.session, [])
    ]
    if one.submitted is not None and one.start is not None and one.submitted < one.start:
        return [("queue", one.submitted, one.start, None), *phases]
    return phases
