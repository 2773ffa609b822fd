"""Spans and states: intervals with a start, an end, a place in the tree and an outcome."""

import asyncio
import os
import time

import pytest

import rl_insight as insight
from recorded import named
from rl_insight.testing import Lines


def test_a_span_names_its_parent_and_its_trace(lines: Lines) -> None:
    with insight.trace_span("outer"), insight.trace_span("inner", attributes={"tokens": 12}):
        insight.log("info", "inside")
    inner, outer = named(lines(), "inner")[0], named(lines(), "outer")[0]
    assert inner["parent"] == outer["id"]
    assert inner["trace"] == outer["trace"]
    assert "parent" not in outer
    assert inner["attrs"] == {"tokens": 12}
    assert lines("log")[0]["parent"] == inner["id"]
    assert outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def test_two_spans_one_after_the_other_are_two_traces(lines: Lines) -> None:
    with insight.trace_span("a"):
        pass
    with insight.trace_span("b"):
        pass
    a, b = lines("span")
    assert a["trace"] != b["trace"]
    assert insight.current_span() is None


def test_a_finished_span_is_reported_with_its_times(lines: Lines) -> None:
    start = time.time_ns() - 5_000
    insight.trace_span(name="step", start_time_ns=start, end_time_ns=start + 3_000, attributes={"global_steps": 4})
    line = lines("span")[0]
    assert (line["ts"], line["dur"], line["step"]) == (start, 3_000, 4)


def test_a_finished_span_belongs_to_the_open_one(lines: Lines) -> None:
    now = time.time_ns()
    with insight.trace_span("outer"):
        insight.trace_span("done", now - 10, now, {"state_lane_id": "lane-3"})
    done, outer = lines("span")
    assert done["parent"] == outer["id"]
    assert done["lane"] == "lane-3"


def test_a_span_that_ends_before_it_starts_has_no_length(lines: Lines) -> None:
    insight.trace_span("x", start_time_ns=1_000, end_time_ns=10)
    assert lines("span")[0]["dur"] == 0
    assert insight.status().problems == {"end_before_start": 1}


@pytest.mark.parametrize(
    ("start", "end"),
    [(-5, 10), (float("nan"), 5), (5, float("inf")), ("1", 2), (None, 2**70), (object(), 1), (1, 2**63), (b"1", 2)],
)
def test_times_that_are_none_drop_the_span_alone(lines: Lines, start: int, end: int) -> None:
    insight.trace_span("bad", start_time_ns=start, end_time_ns=end)
    insight.trace_span("good", start_time_ns=1, end_time_ns=2)
    assert [line["name"] for line in lines("span")] == ["good"]
    assert insight.status().problems == {"bad_time": 1}


def test_numpy_times_lose_no_nanosecond(lines: Lines) -> None:
    numpy = pytest.importorskip("numpy")
    now = 1_700_000_000_123_456_789
    insight.trace_span("x", start_time_ns=numpy.int64(now), end_time_ns=numpy.int64(now + 7))
    assert (lines("span")[0]["ts"], lines("span")[0]["dur"]) == (now, 7)


def test_an_exception_gives_status_and_reason_and_is_raised_on(lines: Lines) -> None:
    with pytest.raises(ValueError, match="too long"), insight.trace_span("x"):
        raise ValueError("too long")
    assert (lines("span")[0]["status"], lines("span")[0]["reason"]) == ("error", "ValueError: too long")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TimeoutError("late"), "timeout"),
        (asyncio.TimeoutError(), "timeout"),
        (asyncio.CancelledError(), "cancelled"),
        (KeyboardInterrupt(), "cancelled"),
        (SystemExit(1), "error"),
    ],
)
def test_each_way_to_end_has_its_status(lines: Lines, error: BaseException, status: str) -> None:
    with pytest.raises(type(error)), insight.trace_span("x"):
        raise error
    assert lines("span")[0]["status"] == status


def test_an_exception_whose_message_cannot_be_shown_is_named(lines: Lines) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    with pytest.raises(Odd), insight.trace_span("x"):
        raise Odd
    assert lines("span")[0]["reason"].startswith("Odd: ")


def test_work_that_failed_without_an_exception_can_say_so(lines: Lines) -> None:
    with insight.trace_span("x") as span:
        span.set(reward=0.5).fail("verifier said no")
    line = lines("span")[0]
    assert (line["status"], line["reason"], line["attrs"]) == ("error", "verifier said no", {"reward": 0.5})


def test_a_status_that_is_none_becomes_an_error(lines: Lines) -> None:
    with insight.trace_span("x") as span:
        span.fail("why", status="weird")  # type: ignore[arg-type]
    assert lines("span")[0]["status"] == "error"
    assert insight.status().problems == {"bad_status": 1}


def test_attributes_are_those_of_the_call_not_of_later(lines: Lines) -> None:
    shared = {"list": [1], "deep": {"a": [1]}}
    with insight.trace_span("x", attributes=shared):
        shared["list"].append(2)  # type: ignore[attr-defined]
        shared["deep"]["a"].append(2)  # type: ignore[index]
    insight.fact("a.b.put", shared, attr=shared)
    shared.clear()
    assert lines("span")[0]["attrs"] == {"list": [1], "deep": {"a": [1]}}
    assert lines("fact")[0]["attrs"]["attr"] == {"list": [1, 2], "deep": {"a": [1, 2]}}


def test_a_state_stands_on_its_lane_outside_the_tree(lines: Lines) -> None:
    with (
        insight.trace_span("outer"),
        insight.trace_state("rollout", state_lane_id="trainer_0", step=10, batch=4),
        insight.trace_span("inner"),
    ):
        pass
    inner, state, outer = lines("span")
    assert (state["lane"], state["step"], state["attrs"], state["part"]) == ("trainer_0", 10, {"batch": 4}, "state")
    assert "parent" not in state
    assert inner["parent"] == outer["id"]
    assert inner["lane"] == "trainer_0"


def test_the_lane_of_a_state_is_the_process_by_default(lines: Lines) -> None:
    with insight.trace_state("idle"), insight.trace_span("inner"):
        pass
    assert [line["lane"] for line in lines("span")] == [str(os.getpid())] * 2


def test_a_lane_may_be_a_number(lines: Lines) -> None:
    with insight.trace_state("idle", 3):
        pass
    assert lines("span")[0]["lane"] == "3"


def test_a_state_is_a_decorator_too(lines: Lines) -> None:
    @insight.trace_state("train", state_lane_id="rank-0", step=4)
    def train(number: int) -> int:
        return number + 1

    assert [train(1), train(2)] == [2, 3]
    assert [(line["name"], line["lane"], line["step"]) for line in lines("span")] == [("train", "rank-0", 4)] * 2


def test_every_interval_of_overlapping_states_on_a_lane_is_recorded(lines: Lines) -> None:
    first = insight.trace_state("a", "lane")
    second = insight.trace_state("b", "lane")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with insight.trace_state("a", "lane"):
        second.__exit__(None, None, None)
    assert [line["name"] for line in lines("span")] == ["a", "b", "a"]


def test_one_object_entered_again_is_an_interval_each_time(lines: Lines) -> None:
    span = insight.trace_span("again", attributes={"given": 1})
    with insight.task("t1"), span:
        span.set(first=True)
    with insight.task("t2"), span as second, span as third:
        assert second is not third
    assert insight.current_span() is None
    found = named(lines(), "again")
    assert len({line["id"] for line in found}) == 3
    assert [line["task"] for line in found] == ["t1", "t2", "t2"]
    assert [line["attrs"] for line in found] == [{"given": 1, "first": True}, {"given": 1}, {"given": 1}]
    assert found[1]["parent"] == found[2]["id"]


def test_a_shared_state_keeps_the_step_it_was_given(lines: Lines) -> None:
    state = insight.trace_state("s", "lane", step=9)
    insight.set_step(1)
    plain = insight.trace_state("p", "lane")
    for step in (1, 2):
        insight.set_step(step)
        with state, plain:
            pass
    assert [line["step"] for line in named(lines(), "s")] == [9, 9]
    assert [line["step"] for line in named(lines(), "p")] == [1, 2]


def test_one_object_shared_by_tasks_gives_each_its_own_interval(lines: Lines) -> None:
    span = insight.trace_span("shared")

    async def work(name: str) -> None:
        with insight.task(name):
            async with span:
                await asyncio.sleep(0.01 if name == "a" else 0.03)
                insight.log("info", name)

    async def main() -> None:
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(main())
    tasks = {line["id"]: line["task"] for line in named(lines(), "shared")}
    assert sorted(tasks.values()) == ["a", "b"]
    assert {line["name"]: tasks[line["parent"]] for line in lines("log")} == {"a": "a", "b": "b"}


def test_spans_may_end_in_another_order_than_they_began(lines: Lines) -> None:
    a, b, c = (insight.trace_span(name) for name in "abc")
    for span in (a, b, c):
        span.__enter__()
    b.__exit__(None, None, None)
    a.__exit__(None, None, None)
    assert insight.current_span() is c
    c.__exit__(None, None, None)
    assert insight.current_span() is None
    with insight.trace_span("after"):
        pass
    assert [line["name"] for line in lines("span")] == ["b", "a", "c", "after"]
    assert "parent" not in lines("span")[-1]


def test_leaving_twice_records_once(lines: Lines) -> None:
    span = insight.trace_span("x")
    span.__enter__()
    span.__exit__(None, None, None)
    span.__exit__(None, None, None)
    assert len(lines("span")) == 1


def test_an_exit_told_only_the_type_of_the_error(lines: Lines) -> None:
    class Picky(Exception):
        def __init__(self, needed: str) -> None:
            super().__init__(needed)

    span = insight.trace_span("x")
    span.__enter__()
    span.__exit__(Picky, None, None)
    assert (lines("span")[0]["status"], lines("span")[0]["reason"]) == ("error", "Picky")


def test_async_with_works(lines: Lines) -> None:
    async def main() -> None:
        async with insight.trace_span("a"), insight.trace_state("b", "lane"):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert [line["name"] for line in lines("span")] == ["b", "a"]


def test_what_a_decorator_was_told_before_init_is_recorded() -> None:
    from rl_insight.testing import recording

    @insight.trace_span("early", attributes={"a": 1})
    def early() -> None: ...

    @insight.trace_state("mode", step=3, kind="x")
    def state() -> None: ...

    early()
    with recording() as lines:
        early()
        state()
    first, second = lines("span")
    assert first["attrs"] == {"a": 1}
    assert (second["lane"], second["step"], second["attrs"]) == (str(os.getpid()), 3, {"kind": "x"})


def test_the_current_span_is_the_innermost(lines: Lines) -> None:
    assert insight.current_span() is None
    with insight.trace_span("a") as a:
        assert insight.current_span() is a
        with insight.trace_span("b") as b:
            assert insight.current_span() is b
        assert insight.current_span() is a
