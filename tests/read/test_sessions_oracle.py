"""Whatever tasks, sessions, turns and phases do, their derived times are those worked out the slow way."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rl_insight as insight
from harness import TS
from rl_insight.read.sessions import Session, sessions
from rl_insight.record.tasks import STATUSES
from rl_insight.testing import recording
from session_oracle import class_of, sessions_in
from stored import MS, Recorder, stored

SLOW = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
NAMES = ["generate", "decode", "tool", "tool:search", "tool_call", "reward", "judge", "queue", "think", "Sandboxing"]


def check(found: Session, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        if name == "phases":
            assert {one.name: (one.count, one.stage) for one in found.phases} == {
                kind: (count, class_of(kind)) for kind, (count, _, _) in value.items()
            }
            for one in found.phases:
                assert (one.s, one.sum_s) == pytest.approx(value[one.name][1:], abs=1e-9)
        elif name.endswith("_s"):
            assert getattr(found, name) == pytest.approx(value, abs=2e-9), (name, found.session)
        else:
            assert getattr(found, name) == value, (name, found.session)


# -- Lines with any times: phases of one session by several processes, overlapping, outside it, open.


@st.composite
def bodies(draw: st.DrawFn) -> tuple[list[Recorder], int]:
    recorders = [Recorder(f"p{rank}", rank=rank) for rank in range(draw(st.integers(1, 3)))]
    moment = st.integers(0, 60)
    some = st.sampled_from(recorders)
    for number in range(draw(st.integers(1, 6))):
        session, task = f"s{number}", f"t{draw(st.integers(0, 2))}"
        who = {"session": session, "task": task}
        for _ in range(draw(st.integers(1, 2))):
            start = draw(moment)
            attrs = draw(st.none() | st.builds(lambda at: {"submitted_ns": TS + at * MS}, moment))
            if draw(st.booleans()):
                draw(some).span("session", start, start + draw(moment), part="session", attrs=attrs, **who)
            else:
                draw(some).open("session", start, part="session", attrs=attrs, **who)
        for _ in range(draw(st.integers(0, 8))):
            start, name = draw(moment), draw(st.sampled_from(NAMES))
            if draw(st.integers(0, 9)):
                status = draw(st.sampled_from([None, None, "error", "timeout", "cancelled"]))
                draw(some).span(name, start, start + draw(moment), part="phase", status=status, **who)
            else:
                draw(some).open(name, start, part="phase", **who)
        for _ in range(draw(st.integers(0, 3))):
            draw(some).span("turn", draw(moment), 100, part="turn", **who)
        for _ in range(draw(st.integers(0, 2))):
            said = {"status": draw(st.sampled_from(STATUSES))}
            draw(some).fact(
                "session.sample.finished",
                draw(st.integers(0, 99)),
                {"session": session, "task": task},
                attrs=said,
                reason=draw(st.sampled_from([None, "why"])),
            )
    for task in ("t0", "t1"):
        if draw(st.booleans()):
            said = {"status": draw(st.sampled_from(STATUSES))}
            draw(some).fact("task.item.finished", draw(st.integers(0, 99)), {"task": task}, attrs=said)
    return recorders, 200


@SLOW
@given(bodies())
def test_times_in_any_lines_are_those_of_the_oracle(given_bodies: tuple[list[Recorder], int]) -> None:
    recorders, now = given_bodies
    at = TS + now * MS
    expected = sessions_in([line for recorder in recorders for line in recorder.lines], at)
    with tempfile.TemporaryDirectory() as folder, stored(Path(folder), *(one.body() for one in recorders)) as store:
        page = sessions(store, "run-1", limit=1000, now=at)
        by_tool = sessions(store, "run-1", limit=1000, sort="tool", now=at)
        busy = sessions(store, "run-1", q="idle>0.01 -status:failed", limit=1000, now=at)
    found = {one.session: one for one in page.sessions if one.start is not None}
    assert found.keys() == expected.keys()
    assert page.total == len(page.sessions)
    for name, one in expected.items():
        check(found[name], one)
    tools = [one.tool_s for one in by_tool.sessions]
    assert tools == sorted(tools, reverse=True)
    assert {one.session for one in busy.sessions} == {
        one.session for one in page.sessions if (one.idle_s or 0) > 0.01 and one.status != "failed"
    }


# -- The public API: asyncio, threads, exceptions and cancellation, as users would have them.


@dataclass
class Phase:
    name: str
    inner: list[Phase] = field(default_factory=list)
    how: str = "one by one"  # or "at once", "in threads"
    end: str = "well"  # or "raises", "is cancelled"


@dataclass
class Plan:
    turns: list[list[Phase]]
    waited_ms: int | None
    said: str | None
    said_by_others: str | None


phases = st.recursive(
    st.builds(Phase, st.sampled_from(NAMES), end=st.sampled_from(["well"] * 6 + ["raises", "is cancelled"])),
    lambda inner: st.builds(
        Phase,
        st.sampled_from(NAMES),
        st.lists(inner, max_size=3),
        st.sampled_from(["one by one", "at once", "in threads"]),
    ),
    max_leaves=6,
)
plans = st.builds(
    Plan,
    st.lists(st.lists(phases, max_size=3), max_size=3),
    st.none() | st.integers(0, 5),
    st.none() | st.sampled_from(STATUSES),
    st.none() | st.sampled_from(STATUSES),
)


class Trouble(Exception):
    pass


async def play(phase: Phase, left_over: list[asyncio.Task[None]]) -> None:
    async with insight.phase(phase.name):
        if phase.how == "in threads":
            await asyncio.gather(
                *(asyncio.to_thread(lambda one=one: asyncio.run(play(one, []))) for one in phase.inner)
            )
        elif phase.how == "at once":
            started = [asyncio.create_task(play(one, left_over)) for one in phase.inner]
            left_over += started
            await asyncio.gather(*started)
        else:
            for one in phase.inner:
                await play(one, left_over)
        await asyncio.sleep(0)
        if phase.end == "raises":
            raise Trouble("no")
        if phase.end == "is cancelled":
            raise asyncio.CancelledError


async def run_session(name: str, plan: Plan, left_over: list[asyncio.Task[None]]) -> None:
    with contextlib.suppress(Trouble, asyncio.CancelledError):
        async with insight.session(name) as session:
            if plan.waited_ms is not None:
                session.submitted(time.time_ns() - plan.waited_ms * MS)
            for number, turn in enumerate(plan.turns):
                with insight.turn(number):
                    for phase in turn:
                        await play(phase, left_over)
            if plan.said is not None:
                session.finish(plan.said, reason="I said so")


async def run_tasks(forest: list[list[Plan]]) -> None:
    left_over: list[asyncio.Task[None]] = []

    async def one_task(number: int, plans: list[Plan]) -> None:
        with insight.task(f"t{number}") as task:
            await asyncio.gather(*(run_session(f"t{number}.{i}", plan, left_over) for i, plan in enumerate(plans)))
            task.finish("accepted" if number % 2 else "dropped", reason="task")

    await asyncio.gather(*(one_task(number, plans) for number, plans in enumerate(forest)))
    await asyncio.gather(*left_over, return_exceptions=True)
    for number, plans in enumerate(forest):
        for i, plan in enumerate(plans):
            if plan.said_by_others is not None:
                insight.finish_session(f"t{number}.{i}", plan.said_by_others, reason="others")


def first_end(turns: list[list[Phase]]) -> str:
    """How a session ends that plays its phases in order, when none runs beside another."""

    def of(found: list[Phase]) -> str:
        for phase in found:
            if (inner := of(phase.inner)) != "well":
                return inner
            if phase.end != "well":
                return phase.end
        return "well"

    return of([phase for turn in turns for phase in turn])


def in_order(turns: list[list[Phase]]) -> bool:
    return all(phase.how == "one by one" and in_order([phase.inner]) for turn in turns for phase in turn)


@SLOW
@given(st.lists(st.lists(plans, min_size=1, max_size=4), min_size=1, max_size=3))
def test_what_is_recorded_through_the_api_adds_up(forest: list[list[Plan]]) -> None:
    with recording(run="run-1", role="rollout", rank=0, ship={"flush_interval": 0.01}) as lines:
        asyncio.run(run_tasks(forest))
        raw = lines.raw()
    decoded = msgspec.json.Decoder(dict[str, Any]).decode_lines(raw)
    at = max(line["ts"] for line in decoded)
    expected = sessions_in(decoded, at)
    with tempfile.TemporaryDirectory() as folder, stored(Path(folder), raw) as store:
        found = {one.session: one for one in sessions(store, "run-1", limit=1000, now=at).sessions}
    names = {f"t{number}.{i}": plan for number, plans in enumerate(forest) for i, plan in enumerate(plans)}
    assert found.keys() == names.keys() == expected.keys()
    for name, plan in names.items():
        one = found[name]
        check(one, expected[name])
        assert one.task == name.partition(".")[0]
        assert one.worker == "rollout-0"
        assert not one.open
        if plan.said_by_others is not None:
            assert (one.status, one.reason) == (plan.said_by_others, "others")
        elif in_order(plan.turns):
            ended = first_end(plan.turns)
            if ended == "raises":
                assert (one.status, one.reason) == ("failed", "Trouble: no")
            elif ended == "is cancelled":
                assert one.status == "cancelled"
            elif plan.said is not None:
                assert (one.status, one.reason) == (plan.said, "I said so")
            else:
                assert one.reason == "task"
