"""Why did this session end like that?"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal

import msgspec

from rl_insight.read.about import LATEST, about
from rl_insight.read.compose import records
from rl_insight.read.room import Room
from rl_insight.read.rows import Rows
from rl_insight.read.scope import Scope
from rl_insight.read.sessions import Session, page_of

MOST = 2_000
NEIGHBOURS = 200


class NoSuchSession(LookupError):
    """Nobody has recorded a session of that id."""


class SpanOf(msgspec.Struct):
    """One interval of the session; `depth` counts from the outermost that is known."""

    id: str | None
    parent: str | None
    kind: str
    name: str
    worker: str | None
    proc: str
    lane: str | None
    start: float
    end: float | None
    s: float
    open: bool
    status: str | None
    reason: str | None
    attrs: dict[str, Any]
    depth: int = 0
    turn: int | None = None


class Turn(msgspec.Struct):
    """One round of the session."""

    turn: int | None
    start: float
    end: float | None
    s: float
    open: bool
    status: str | None


class FactOf(msgspec.Struct):
    """Something that happened to the session or its task."""

    at: float
    name: str
    worker: str | None
    proc: str
    tags: dict[str, Any]
    op: str | None
    peer: str | None
    outcome: str | None
    reason: str | None
    parent: str | None
    attrs: dict[str, Any]


class LogOf(msgspec.Struct):
    """A log record from inside the session."""

    at: float
    level: str
    message: str
    worker: str | None
    proc: str
    parent: str | None
    attrs: dict[str, Any]


class Event(msgspec.Struct):
    """A span, fact or log in the order of time, as an index into its list."""

    at: float
    what: Literal["span", "fact", "log"]
    index: int


class Neighbour(msgspec.Struct):
    """Another session of the same task."""

    session: str
    status: str
    reward: float | None
    total_s: float | None
    tokens: float | None
    turns: int | None
    worker: str | None
    start: float | None
    open: bool


class SessionStory(msgspec.Struct):
    """A session turn by turn."""

    run: str
    at: float
    session: Session
    turns: list[Turn]
    spans: list[SpanOf]
    facts: list[FactOf]
    logs: list[LogOf]
    events: list[Event]
    neighbours: list[Neighbour]
    truncated: bool
    task_attrs: dict[str, Any] | None = None


def session(source: Rows, session_id: str, run: str = LATEST, *, now: int | None = None) -> SessionStory:
    """One session with all that was recorded inside it, in causal order. Raises `NoSuchSession`."""
    this = about(source, run, now)
    found = page_of(source, this, Scope(session=session_id))
    if not found:
        raise NoSuchSession(f"nobody has recorded a session {session_id!r} in run {this.run!r}")
    (one,) = found
    params = {**this.params, "session": session_id, "task": one.task, "most": MOST}
    room = Room()
    told = [room.opened(row)["attrs"] for row in records(source, "task_attrs", params)]
    spans = causal([msgspec.convert(room.opened(row), SpanOf) for row in records(source, "session_spans", params)])
    facts = [msgspec.convert(room.opened(row), FactOf) for row in records(source, "session_facts", params)]
    logs = [msgspec.convert(room.opened(row), LogOf) for row in records(source, "session_logs", params)]
    others = page_of(source, this, Scope(task=one.task), limit=NEIGHBOURS) if one.task is not None else []
    return SessionStory(
        this.run,
        this.at_ms,
        one,
        [
            Turn(span.turn, span.start, span.end, span.s, span.open, span.status)
            for span in spans
            if span.kind == "turn"
        ],
        spans,
        facts,
        logs,
        in_order(spans, facts, logs),
        [msgspec.convert(other, Neighbour, from_attributes=True) for other in others if other.session != one.session],
        room.full or max(len(spans), len(facts), len(logs)) >= MOST,
        told[0] if told else None,
    )


def causal(spans: list[SpanOf]) -> list[SpanOf]:
    """The spans with each after its parent and siblings by start, and how deep and in which turn each is."""
    ids = {span.id for span in spans}
    children: dict[str | None, list[SpanOf]] = defaultdict(list)
    for span in spans:
        children[span.parent if span.parent in ids and span.parent != span.id else None].append(span)
    ordered: list[SpanOf] = []
    waiting: list[tuple[SpanOf, int, int | None]] = [(span, 0, None) for span in reversed(children[None])]
    seen: set[int] = set()
    while waiting:
        span, depth, turn = waiting.pop()
        if id(span) in seen:
            continue
        seen.add(id(span))
        number = span.attrs.get("turn") if span.kind == "turn" else None
        span.depth = depth
        span.turn = number if isinstance(number, int) else turn
        ordered.append(span)
        if span.id is not None:
            waiting += [(child, depth + 1, span.turn) for child in reversed(children[span.id])]
    # Parents that are each other's cannot come from us, but must not vanish either.
    return ordered + [span for span in spans if id(span) not in seen]


def in_order(spans: list[SpanOf], facts: list[FactOf], logs: list[LogOf]) -> list[Event]:
    """All that happened, by time; what began at the same moment stays in causal order."""
    events = [Event(span.start, "span", index) for index, span in enumerate(spans)]
    events += [Event(fact.at, "fact", index) for index, fact in enumerate(facts)]
    events += [Event(log.at, "log", index) for index, log in enumerate(logs)]
    return sorted(events, key=lambda event: event.at)
