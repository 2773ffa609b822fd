"""`@trace_op` and friends on functions, coroutines and generators of every sort."""

import asyncio
import contextlib
import functools
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import rl_insight as insight
from recorded import named
from rl_insight.testing import Lines, recording


def test_a_bare_decorator_names_the_span_after_the_function(lines: Lines) -> None:
    @insight.trace_op
    def update_model(batch: int) -> int:
        """Doc."""
        return batch + 1

    assert update_model(1) == 2
    assert (update_model.__name__, update_model.__doc__) == ("update_model", "Doc.")
    assert lines("span")[0]["name"].endswith("update_model")


def test_name_static_and_extra_labels(lines: Lines) -> None:
    @insight.trace_op("update_model", extra_labels=lambda batch: {"size": len(batch)}, stage="optimizer", step=3)
    def update(batch: list[int]) -> int:
        return len(batch)

    assert update([1, 2]) == 2
    line = lines("span")[0]
    assert (line["name"], line["attrs"], line["step"]) == ("update_model", {"stage": "optimizer", "size": 2}, 3)


def test_extra_labels_that_fail_leave_the_static_ones(lines: Lines) -> None:
    def broken(first: object) -> dict[str, Any]:
        raise RuntimeError("no")

    @insight.trace_op("op", extra_labels=broken, stage="a")
    def op(first: int = 0) -> int:
        return 5

    assert op(1) == 5
    assert op() == 5
    assert [line["attrs"] for line in lines("span")] == [{"stage": "a"}] * 2
    assert insight.status().problems == {"extra_labels": 1}


@pytest.mark.parametrize("odd", [None, 7, "text", [("a", 1)], {1: 2}])
def test_extra_labels_may_return_anything(lines: Lines, odd: Any) -> None:
    @insight.trace_op("op", extra_labels=lambda first: odd)
    def op(first: int) -> int:
        return first

    assert op(1) == 1
    assert len(lines("span")) == 1


def test_methods_partials_and_callables(lines: Lines) -> None:
    class Model:
        @insight.trace_op
        def method(self) -> str:
            return "method"

        @staticmethod
        @insight.trace_op
        def still() -> str:
            return "static"

        @insight.trace_op
        def __call__(self) -> str:
            return "call"

    assert Model().method() == "method"
    assert Model.still() == "static"
    assert Model()() == "call"
    assert insight.trace_op(functools.partial(int, "7"))() == 7
    names = [line["name"].rpartition(".")[2] for line in lines("span")]
    assert names == ["method", "still", "__call__", "partial"]


def test_an_error_in_a_traced_function_is_recorded_and_raised(lines: Lines) -> None:
    @insight.trace_op("op")
    def op() -> None:
        raise KeyError("k")

    with pytest.raises(KeyError):
        op()
    assert lines("span")[0]["status"] == "error"


def test_recursion_nests(lines: Lines) -> None:
    @insight.trace_op("f")
    def f(depth: int) -> None:
        if depth:
            f(depth - 1)

    f(2)
    inner, middle, outer = lines("span")
    assert inner["parent"] == middle["id"]
    assert middle["parent"] == outer["id"]


def test_a_wrapped_function_stays_of_its_sort() -> None:
    @insight.trace_op
    async def coroutine() -> None: ...

    @insight.trace_op
    def generator() -> Iterator[int]:
        yield 1

    @insight.trace_op
    async def async_generator() -> AsyncIterator[int]:
        yield 1

    assert inspect.iscoroutinefunction(coroutine)
    assert inspect.isgeneratorfunction(generator)
    assert inspect.isasyncgenfunction(async_generator)
    assert list(generator()) == [1]


def test_a_coroutine_is_a_span_while_it_runs(lines: Lines) -> None:
    @insight.trace_op("work")
    async def work(number: int) -> int:
        await asyncio.sleep(0)
        insight.log("info", "inside")
        return number

    assert asyncio.run(work(3)) == 3
    assert lines("log")[0]["parent"] == lines("span")[0]["id"]


def test_a_cancelled_task_is_recorded_as_cancelled(lines: Lines) -> None:
    @insight.trace_op("hangs")
    async def hangs() -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(hangs())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(hangs(), 0.01)

    asyncio.run(main())
    assert [line["status"] for line in lines("span")] == ["cancelled", "cancelled"]


def test_the_consumers_code_is_not_inside_a_generators_span(lines: Lines) -> None:
    @insight.trace_op("batches")
    def batches() -> Iterator[int]:
        for number in range(2):
            insight.log("info", "producer")
            with insight.trace_span("load"):
                yield number

    with insight.trace_span("consumer"):
        for _ in batches():
            insight.log("info", "consumer")
    assert insight.current_span() is None
    consumer, spans = named(lines(), "consumer"), named(lines(), "batches")
    assert len(spans) == 1
    outer = next(line for line in consumer if line["kind"] == "span")
    assert spans[0]["parent"] == outer["id"]
    assert {line["parent"] for line in named(lines(), "load")} == {spans[0]["id"]}
    for line in lines("log"):
        assert line["parent"] == (spans[0]["id"] if line["name"] == "producer" else outer["id"])


def test_a_generator_passes_on_what_is_sent_thrown_and_returned(lines: Lines) -> None:
    @insight.trace_op
    def echo() -> Any:
        got: list[Any] = []
        while True:
            try:
                sent = yield len(got)
            except KeyError:
                sent = "thrown"
            if sent is None:
                return got
            got.append(sent)

    running = echo()
    assert next(running) == 0
    assert running.send("a") == 1
    assert running.throw(KeyError()) == 2
    with pytest.raises(StopIteration) as stopped:
        running.send(None)
    assert stopped.value.value == ["a", "thrown"]
    assert "status" not in lines("span")[0]


def test_a_generator_left_early_is_closed_and_recorded(lines: Lines) -> None:
    @insight.trace_op("numbers")
    def numbers() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            insight.log("info", "cleanup")

    running = numbers()
    with insight.trace_span("elsewhere"):
        assert next(running) == 1
    with insight.trace_span("later"):
        running.close()
        here = insight.current_span()
        assert here is not None
        assert here.name == "later"
    span = named(lines(), "numbers")[0]
    assert span["status"] == "cancelled"
    assert lines("log")[0]["parent"] == span["id"]


def test_a_generator_finished_elsewhere_leaves_the_place_alone(lines: Lines) -> None:
    @insight.trace_op("numbers")
    def numbers() -> Iterator[int]:
        yield 1

    running = numbers()
    with insight.trace_span("a"):
        next(running)
    with insight.trace_span("b"):
        assert list(running) == []
        insight.log("info", "in b")
    b = named(lines(), "b")[0]
    assert lines("log")[0]["parent"] == b["id"]


def test_a_generator_never_started_is_no_span(lines: Lines) -> None:
    @insight.trace_op
    def numbers() -> Iterator[int]:
        yield 1

    numbers().close()
    numbers()
    assert lines("span") == []


def test_an_async_generator_is_stepped_out_of_as_well(lines: Lines) -> None:
    @insight.trace_op("stream")
    async def stream() -> AsyncIterator[int]:
        for number in range(3):
            await asyncio.sleep(0)
            insight.log("info", "producer")
            yield number

    async def main() -> list[int]:
        got = []
        async with insight.trace_span("consumer"):
            async for number in stream():
                insight.log("info", "consumer")
                got.append(number)
        return got

    assert asyncio.run(main()) == [0, 1, 2]
    spans = {line["name"]: line["id"] for line in lines("span")}
    assert {line["parent"] for line in named(lines("log"), "producer")} == {spans["stream"]}
    assert {line["parent"] for line in named(lines("log"), "consumer")} == {spans["consumer"]}


def test_an_async_generator_passes_on_what_is_sent_and_thrown(lines: Lines) -> None:
    @insight.trace_op("echo")
    async def echo() -> Any:
        sent = "first"
        while True:
            try:
                sent = yield sent
            except KeyError:  # noqa: PERF203 -- what is thrown in is what is tested
                sent = "thrown"

    async def main() -> None:
        running = echo()
        assert await running.asend(None) == "first"
        assert await running.asend("a") == "a"
        assert await running.athrow(KeyError()) == "thrown"
        with pytest.raises(ValueError, match="out"):
            await running.athrow(ValueError("out"))

    asyncio.run(main())
    assert lines("span")[0]["reason"] == "ValueError: out"


def test_an_async_generator_closed_early_runs_its_cleanup(lines: Lines) -> None:
    @insight.trace_op("stream")
    async def stream() -> Any:
        try:
            yield 1
        finally:
            insight.log("info", "cleanup")

    async def main() -> None:
        running = stream()
        assert await running.__anext__() == 1
        await running.aclose()

    asyncio.run(main())
    assert lines("span")[0]["status"] == "cancelled"
    assert lines("log")[0]["parent"] == lines("span")[0]["id"]


def test_generators_of_tasks_keep_their_place(lines: Lines) -> None:
    @insight.session()
    def turns() -> Iterator[int]:
        with insight.turn(1):
            yield 1
        insight.metric_gauge("reward", 1.0)
        yield 2

    with insight.task("t1"):
        assert list(turns()) == [1, 2]
    session = next(line for line in lines("span") if line.get("part") == "session")
    turn = named(lines(), "turn")[0]
    assert turn["parent"] == session["id"]
    assert lines("gauge")[0]["session"] == session["session"]


def test_decorated_before_init_and_called_after_close() -> None:
    @insight.trace_op("op", stage="a")
    def op() -> int:
        return 1

    @insight.trace_op("numbers")
    def numbers() -> Iterator[int]:
        yield 1

    @insight.trace_op("stream")
    async def stream() -> AsyncIterator[int]:
        yield 1

    async def drain() -> list[int]:
        return [number async for number in stream()]

    assert (op(), list(numbers()), asyncio.run(drain())) == (1, [1], [1])
    with recording() as lines:
        assert (op(), list(numbers()), asyncio.run(drain())) == (1, [1], [1])
    assert (op(), list(numbers()), asyncio.run(drain())) == (1, [1], [1])
    assert [line["name"] for line in lines("span")] == ["op", "numbers", "stream"]
