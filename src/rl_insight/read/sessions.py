"""Where did the time of each session go, and how did it end?"""

from __future__ import annotations

import msgspec

from rl_insight.read.about import LATEST, About, about
from rl_insight.read.compose import records
from rl_insight.read.rows import Rows
from rl_insight.read.scope import Scope
from rl_insight.read.search import LATE, NUMBERS, BadSearch, parse

CAP = 50_000
MOST = 1_000


class Phase(msgspec.Struct):
    """All phases of one name in a session: their union time `s` and their sum."""

    name: str
    stage: str
    count: int
    s: float
    sum_s: float


class Session(msgspec.Struct):
    """One session. Moments are epoch milliseconds; times of stages are union times."""

    session: str
    task: str | None
    status: str
    reason: str | None
    error: str | None
    step: int | None
    trained_step: int | None
    worker: str | None
    proc: str | None
    submitted: float | None
    start: float | None
    end: float | None
    open: bool
    lost: bool
    stage: str | None
    stage_s: float | None
    age_s: float | None
    total_s: float | None
    queue_s: float
    generate_s: float
    tool_s: float
    reward_s: float
    other_s: float
    idle_s: float | None
    phases: list[Phase]
    turns: int | None
    tokens: float | None
    reward: float | None
    weights: float | None
    staleness: float | None
    errors: int


class Sessions(msgspec.Struct):
    """A page of sessions. `total` match; `capped` says that only the newest of the run were considered."""

    run: str
    at: float
    total: int
    considered: int
    capped: bool
    offset: int
    sessions: list[Session]


def sessions(
    source: Rows,
    run: str = LATEST,
    *,
    q: str = "",
    step: int | None = None,
    since: float | None = None,
    until: float | None = None,
    task: str | None = None,
    sort: str = "start",
    limit: int = 100,
    offset: int = 0,
    cap: int = CAP,
    now: int | None = None,
) -> Sessions:
    """Sessions that match a search, sorted by any of their times and numbers; `+` in front sorts smallest first.

    `since` and `until` are epoch milliseconds, between which they began.
    """
    this = about(source, run, now)
    where = parse(q)
    scope = Scope(since, until, None if step is None else (step, step), task)
    if step is not None:
        where.add("coalesce(trained_step, step) = ?", step)
        for column, sign, moment in (("start_ns", ">=", since), ("start_ns", "<", until)):
            if moment is not None:
                where.add(f"{column} {sign} ?", int(moment * 1e6))
        if task is not None:
            where.add("task = ?", task)
    name = sort.lstrip("+-")
    if name not in NUMBERS and name != "start":
        raise BadSearch(f"cannot sort by {name!r}; there are start, {', '.join(NUMBERS)}")
    column = "start_ns" if name == "start" else NUMBERS[name]
    order = f"ORDER BY {column} {'ASC' if sort.startswith('+') else 'DESC'} NULLS LAST, session"
    page = f"LIMIT {int(limit)} OFFSET {int(offset)}"
    # Phases of all sessions are added up only when the answer depends on them.
    late = bool(where.late) or name in LATE
    plain = sort in ("start", "-start") and not where.early and not late and step is None
    rows = records(
        source,
        "sessions",
        {**this.params, **where.params, **scope.params, "cap": offset + limit if plain else cap},
        {
            **scope.fills,
            "early": " ".join(where.early),
            "early order": "" if late else f"{order} {page}",
            "late": " ".join(where.late),
            "late order": f"{order} {page}" if late else "",
            "order": order,
            "total": "left_over" if late else "matching",
        },
    )
    found = [msgspec.convert(row, Session) for row in rows]
    total = int(rows[0]["matching"]) if rows else 0
    considered = int(rows[0]["considered"]) if rows else 0
    if plain:
        # The newest can be told without looking at all; how many there are is a question of its own.
        (counted,) = records(source, "session_count", {**this.params, **scope.params, "cap": cap}, scope.fills)
        total = considered = int(counted["sessions"])
    return Sessions(this.run, this.at_ms, total, considered, considered >= cap and not plain, offset, found)


def page_of(source: Rows, this: About, scope: Scope, *, limit: int = 1, cap: int = CAP) -> list[Session]:
    """The sessions of a scope, by start, at most `limit`."""
    order = "ORDER BY start_ns NULLS LAST, session"
    rows = records(
        source,
        "sessions",
        {**this.params, **scope.params, "cap": cap},
        {
            **scope.fills,
            "early": "",
            "early order": f"{order} LIMIT {int(limit)}",
            "late": "",
            "late order": "",
            "order": order,
            "total": "matching",
        },
    )
    return [msgspec.convert(row, Session) for row in rows]
