"""Tasks, sessions, turns and phases: how RL people think of the work.

A task is one data point, a session one sample of it, a turn one round of a session, a phase what a session is doing
(queue, generate, tool, reward, or any other name). All of them are spans that say which part they are; how a session
or a task ended is a fact of its own, since another process may be the one that knows.
"""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import Any

from rl_insight.record.facts import record
from rl_insight.record.functions import F, wrap
from rl_insight.record.propagation import baggage, inject
from rl_insight.record.recorder import current, hex_id, recorder
from rl_insight.record.spans import Span, outcome_of
from rl_insight.record.values import settle, shown, text

STATUSES = ("accepted", "rejected", "failed", "dropped", "cancelled")


class Work:
    """A task or a session: a context manager (plain and async) and a decorator; each call is one of its own."""

    __slots__ = ("_attrs", "_entered", "_given", "_span", "finished", "id", "part")

    def __init__(self, part: Any, given: Any, attrs: dict[str, Any]) -> None:
        self.part = part
        self.id: str = "" if given is None else text(given)
        self.finished = ""
        self._given = given
        self._attrs = attrs
        self._span: Span | None = None
        self._entered: list[Span] = []  # innermost last: one object may be entered again

    def __enter__(self) -> Work:
        if not recorder.active:
            return self
        if self._given is None or not self.id:
            self.id = hex_id(recorder.next_id())
        self.finished = ""
        span = Span(self.part, None, settle({**self._attrs}) or None, False, self.part)
        if self.part == "task":
            span.task = self.id
        else:
            span.session = self.id
        submitted = getattr(current.get(), "submitted", None)
        if submitted is not None and "submitted_ns" not in self._attrs:
            span.attrs = {**(span.attrs or {}), "submitted_ns": submitted}
        self._span = span
        self._entered.append(span)
        span.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if not self._entered:
            return
        if kind is not None and not self.finished:
            status, reason = outcome_of(error if isinstance(error, BaseException) else kind)
            if status != "ok":
                self.finish("cancelled" if status == "cancelled" else "failed", reason)
        here = current.get()
        span = next((span for span in self._entered if span is here), self._entered[-1])
        self._entered = [other for other in self._entered if other is not span]
        self._span = self._entered[-1] if self._entered else span
        span.__exit__(kind, error, traceback)

    async def __aenter__(self) -> Work:
        return self.__enter__()

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.__exit__(kind, error, traceback)

    def __call__(self, function: F) -> F:
        return wrap(function, lambda arguments: Work(self.part, self._given, dict(self._attrs)))

    @property
    def task(self) -> str | None:
        """The id of the task this is, or belongs to."""
        if self._span is not None:
            return self._span.task
        return self.id if self.part == "task" else None

    def set(self, **attrs: Any) -> Work:
        """Attach numbers and other attributes: tokens, weight version, reward, staleness."""
        if self._span is not None:
            self._span.set(**attrs)
        else:
            self._attrs = {**self._attrs, **attrs}
        return self

    def submitted(self, time_ns: int) -> Work:
        """Say when it was handed in, so that its time in the queue is known."""
        return self.set(submitted_ns=time_ns)

    def finish(self, status: str, reason: str | None = None, **numbers: Any) -> None:
        """Say how it ended: accepted, rejected, failed, dropped or cancelled, and why."""
        self.finished = text(status)
        if self.part == "task":
            _finished("task.item.finished", {"task": self.id}, status, reason, numbers)
        else:
            self.set(**numbers)
            tags = {"session": self.id, "task": self.task} if self.task is not None else {"session": self.id}
            _finished("session.sample.finished", tags, status, reason, numbers)


def task(id: Any, *, submitted_ns: int | None = None, **attrs: Any) -> Work:
    """One data point and everything done for it."""
    return Work("task", id, attrs if submitted_ns is None else {**attrs, "submitted_ns": submitted_ns})


def session(id: Any = None, *, submitted_ns: int | None = None, **attrs: Any) -> Work:
    """One sample of the current task; an id is made when none is given."""
    return Work("session", id, attrs if submitted_ns is None else {**attrs, "submitted_ns": submitted_ns})


def turn(number: int, **attrs: Any) -> Span:
    """One round of the current session."""
    return Span("turn", None, settle({**attrs, "turn": number}), False, "turn")


def phase(name: str, **attrs: Any) -> Span:
    """What the current session is doing: `generate`, `tool`, `reward`, or any other name. Phases may overlap."""
    return Span(name, None, settle(attrs) if attrs else None, False, "phase")


def submit(task_id: Any, **attrs: Any) -> MutableMapping[str, str]:
    """Say that a task was handed in, and return a carrier to send along.

    A task or session entered under `extract(carrier)`, in whatever process, then knows how long it has waited.
    """
    task_id = text(task_id)
    submitted = recorder.now() if recorder.active else time.time_ns()
    if recorder.active:
        record("task.item.put", {"task": task_id}, None, None, None, None, None, attrs)
    carrier = inject()
    carrier["baggage"] = baggage(carrier.get("baggage"), task=task_id, submitted=str(submitted))
    return carrier


def finish_session(
    session_id: Any, status: str, reason: str | None = None, *, task_id: Any = None, **numbers: Any
) -> None:
    """Say how a session ended, knowing only its id; the last word counts."""
    tags = {"session": text(session_id)}
    if task_id is not None:
        tags["task"] = text(task_id)
    _finished("session.sample.finished", tags, status, reason, numbers)


def finish_task(task_id: Any, status: str, reason: str | None = None, **numbers: Any) -> None:
    """Say how a task ended; its sessions of which nobody said so ended the same way."""
    _finished("task.item.finished", {"task": text(task_id)}, status, reason, numbers)


def _finished(name: str, tags: dict[str, str], status: Any, reason: str | None, numbers: dict[str, Any]) -> None:
    if not recorder.active:
        return
    status = text(status)
    if status not in STATUSES:
        recorder.problem("bad_status", f"status {shown(status)} is not one of {', '.join(STATUSES)}")
    record(name, tags, None, None, None, None, reason, {**numbers, "status": status})
