"""Which tasks taught something?"""

from __future__ import annotations

import msgspec

from rl_insight.read.about import LATEST, about
from rl_insight.read.compose import records
from rl_insight.read.rows import Rows
from rl_insight.read.scope import Scope
from rl_insight.read.search import TASK_NUMBERS, BadSearch, parse
from rl_insight.read.sessions import CAP


class Task(msgspec.Struct):
    """One data point: how its sessions ended, and how their rewards differ."""

    task: str
    status: str
    reason: str | None
    step: int | None
    trained_step: int | None
    open: bool
    submitted: float | None
    start: float | None
    end: float | None
    total_s: float | None
    sessions: int
    accepted: int
    rejected: int
    failed: int
    dropped: int
    cancelled: int
    running: int
    lost: int
    pending: int
    reward: float | None
    spread: float | None
    reward_min: float | None
    reward_max: float | None
    rewarded: int
    zero_spread: bool
    tokens: float | None


class Summary(msgspec.Struct):
    """All tasks that match. `with_rewards` have at least two rewards; of those `zero_spread` have all the same."""

    tasks: int
    with_rewards: int
    zero_spread: int
    zero_spread_share: float | None


class Tasks(msgspec.Struct):
    """A page of tasks."""

    run: str
    at: float
    total: int
    capped: bool
    offset: int
    summary: Summary
    tasks: list[Task]


def tasks(
    source: Rows,
    run: str = LATEST,
    *,
    q: str = "",
    step: int | None = None,
    since: float | None = None,
    until: float | None = None,
    zero_spread: bool = False,
    sort: str = "start",
    limit: int = 100,
    offset: int = 0,
    cap: int = CAP,
    now: int | None = None,
) -> Tasks:
    """Tasks that match a search; `zero_spread` leaves only those whose rewards are all the same."""
    this = about(source, run, now)
    where = parse(q, TASK_NUMBERS)
    scope = Scope(since, until, None if step is None else (step, step))
    if step is not None:
        where.add("coalesce(trained_step, step) = ?", step)
    if zero_spread:
        where.add("zero_spread")
    columns = {**TASK_NUMBERS, "start": "begun_ns"}
    name = sort.lstrip("+-")
    if name not in columns:
        raise BadSearch(f"cannot sort tasks by {name!r}; there are {', '.join(columns)}")
    task_conditions = (
        "AND false"
        if step is not None
        else " ".join(
            f"AND ts {sign} ${given}"
            for given, sign, value in (("since", ">=", since), ("until", "<", until))
            if value is not None
        )
    )
    rows = records(
        source,
        "tasks",
        {**this.params, **where.params, **scope.params, "cap": cap},
        {
            **scope.fills,
            "tasks": task_conditions,
            "where": " ".join(where.early),
            "order": f"ORDER BY {columns[name]} {'ASC' if sort.startswith('+') else 'DESC'} NULLS LAST, task",
            "page": f"LIMIT {int(limit)} OFFSET {int(offset)}",
        },
    )
    (first, *_) = rows
    total, rewarded, flat = int(first["matching"]), int(first["with_rewards"]), int(first["zero_spreads"])
    return Tasks(
        this.run,
        this.at_ms,
        total,
        int(first["considered"]) >= cap,
        offset,
        Summary(total, rewarded, flat, flat / rewarded if rewarded else None),
        [msgspec.convert(row, Task) for row in rows if row["task"] is not None],
    )
