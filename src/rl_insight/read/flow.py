"""Do producers and the trainer keep pace?"""

from __future__ import annotations

import msgspec

from rl_insight.read.about import LATEST, About, about
from rl_insight.read.compose import records, structs
from rl_insight.read.rows import Rows
from rl_insight.read.scope import Scope

# Sessions looked at: enough for hours of a large run, and an answer within a second or two.
CAP = 100_000
BUCKETS = 120
MOST_BUCKETS = 500


class Funnel(msgspec.Struct):
    """How many sessions got how far."""

    submitted: int
    started: int
    generated: int
    accepted: int
    rejected: int
    dropped: int
    failed: int
    cancelled: int
    running: int
    lost: int
    pending: int
    trained: int


class Reason(msgspec.Struct):
    """Why sessions ended as they did; `worker` when all of them ran on one."""

    status: str
    reason: str | None
    sessions: int
    worker: str | None


class TaskFunnel(msgspec.Struct):
    """How tasks ended."""

    submitted: int
    accepted: int
    rejected: int
    dropped: int
    failed: int
    cancelled: int
    open: int


class Eviction(msgspec.Struct):
    """What fell out of a queue, and why."""

    reason: str | None
    count: int


class Queue(msgspec.Struct):
    """One queue. `depths` are `(moment, depth at its end, highest depth)` per bucket of time."""

    queue: str
    put: int
    taken: int
    evicted: int
    depth: int
    depth_max: int
    dwell_p50_s: float | None
    dwell_p90_s: float | None
    dwell_p99_s: float | None
    dwell_max_s: float | None
    oldest_s: float | None
    evictions: list[Eviction]
    depths: list[tuple[float, float, float]]


class FlowVersion(msgspec.Struct):
    """The sessions generated with one version of the weights."""

    weights: float
    sessions: int
    trained: int
    staleness: float | None
    staleness_max: float | None
    workers: int


class WorkerVersion(msgspec.Struct):
    """The weights a process has got, and what it made with them."""

    worker: str | None
    proc: str
    sent: int | None
    received: int | None
    applied: int | None
    behind: int | None
    sessions: int = 0
    staleness: float | None = None


class Flow(msgspec.Struct, rename={"since": "from", "until": "to"}):
    """What went through the run between two moments."""

    run: str
    at: float
    since: float
    until: float
    capped: bool
    funnel: Funnel
    reasons: list[Reason]
    tasks: TaskFunnel
    queues: list[Queue]
    versions: list[FlowVersion]
    workers: list[WorkerVersion]


class _Sessions(msgspec.Struct):
    funnel: Funnel
    reasons: list[Reason]
    versions: list[FlowVersion]
    workers: list[dict[str, float | str | None]]
    considered: int


def flow(
    source: Rows,
    run: str = LATEST,
    *,
    since: float | None = None,
    until: float | None = None,
    buckets: int = BUCKETS,
    cap: int = CAP,
    now: int | None = None,
) -> Flow:
    """From submission to training: how many, how long in which queue, and what was lost on the way."""
    this = about(source, run, now)
    told = sessions_of(source, this, Scope(since, until), cap)
    low = this.first_ts if since is None else int(since * 1e6)
    high = this.at + 1 if until is None else int(until * 1e6)
    params = {**this.params, "since": low, "until": high, "buckets": buckets}
    (tasks,) = structs(source, "flow_tasks", TaskFunnel, params)
    made = {str(one["proc"]): one for one in told.workers}
    workers = structs(source, "weights", WorkerVersion, params)
    for worker in workers:
        own = made.get(worker.proc, {})
        worker.sessions = int(own.get("sessions") or 0)
        worker.staleness = own.get("staleness")  # type: ignore[assignment]
    return Flow(
        this.run,
        this.at_ms,
        low / 1e6,
        high / 1e6,
        told.considered >= cap,
        told.funnel,
        told.reasons,
        tasks,
        structs(source, "queues", Queue, params),
        told.versions,
        workers,
    )


def sessions_of(source: Rows, this: About, scope: Scope, cap: int = CAP) -> _Sessions:
    """How far the sessions of a scope got."""
    params = {**this.params, **scope.params, "cap": cap}
    (found,) = records(source, "flow_sessions", params, scope.fills)
    return msgspec.convert(found, _Sessions)
