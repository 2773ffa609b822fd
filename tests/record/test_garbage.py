"""No call ever raises, whatever it is given; what is accepted is a legal line, and numbers have no hole."""

import collections
import decimal
import enum
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rl_insight as insight
from recorded import decoded, of_kind
from rl_insight.testing import recording


class Evil:
    """Raises whatever is asked of it."""

    def _raise(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError("asked")

    __str__ = __repr__ = __eq__ = __hash__ = __float__ = __int__ = __index__ = __bool__ = _raise  # type: ignore[assignment]
    __len__ = __iter__ = __getitem__ = __contains__ = __lt__ = __format__ = __getattr__ = _raise  # type: ignore[assignment]


class EvilText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("asked")

    __repr__ = __str__
    __hash__ = None  # type: ignore[assignment]


class EvilMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("asked")

    def __len__(self) -> int:
        return 3


class EvilClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("asked")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Weird(str, enum.Enum):
    A = "a"


def _recursive() -> list[Any]:
    inner: list[Any] = [1]
    inner.append({"me": inner})
    return inner


def _arrays() -> list[Any]:
    numpy = pytest.importorskip("numpy")
    return [numpy.float32(1.5), numpy.array([1, 2]), numpy.array([1]), numpy.nan, numpy.datetime64("2020-01-01")]


ODD: list[Any] = [
    Evil(),
    EvilText("x"),
    EvilMapping(),
    EvilClass(),
    Evil,
    object(),
    Colour.RED,
    Level.LOW,
    Weird.A,
    b"\xff\x00",
    bytearray(b"x"),
    memoryview(b"xyz"),
    "\ud800 lone",
    "\x00\n\t",
    "x" * 100_000,
    {"nested": {"deep": [{"a": (1, {2, 3})}]}},
    _recursive(),
    [[[[[[[[[[1]]]]]]]]]],
    {1: 2, None: 3, ("a",): 4},
    {Evil: 1, Colour.RED: 2},
    list(range(10_000)),
    [[0] * 300] * 300,
    float("nan"),
    math.inf,
    -math.inf,
    2**63,
    -(2**70),
    10**5000,
    1j,
    decimal.Decimal("1.5"),
    ValueError("x"),
    lambda: None,
    print,
    (number for number in range(3)),
    collections.OrderedDict(a=1),
    *_arrays(),
]


class Pick(NamedTuple):
    """One of the odd values, by number: hypothesis itself would hash and show them."""

    which: int


def real(value: Any) -> Any:
    """The odd values where they were picked."""
    if isinstance(value, Pick):
        return ODD[value.which]
    if isinstance(value, tuple):
        return tuple(map(real, value))
    if isinstance(value, list):
        return list(map(real, value))
    if isinstance(value, dict):
        return {key: real(item) for key, item in value.items()}
    return value


odd = st.sampled_from(range(len(ODD))).map(Pick)
anything = st.one_of(
    odd,
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(alphabet=st.characters(), max_size=30),
    st.binary(max_size=5),
    st.recursive(
        st.one_of(st.integers(), st.text(max_size=5), odd),
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
        max_leaves=8,
    ),
)
keywords = st.dictionaries(
    st.text(max_size=8).filter(
        lambda key: (
            key not in {"name", "value", "amount", "documentation", "level", "message", "tags", "op", "attempt", "peer"}
            and key not in {"outcome", "reason", "state_name", "state_lane_id", "id", "submitted_ns", "number"}
        )
    ),
    anything,
    max_size=3,
)
names = st.one_of(st.text(max_size=20), anything)


def _span(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    first, second, third = arguments
    with insight.trace_span(first, attributes=second, parent_carrier=third) as span:
        span.set(**more).fail(second, third)


def _finished(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    insight.trace_span(arguments[0], 5, 10, more)


def _state(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    with insight.trace_state(arguments[0], arguments[1], **more):
        pass


def _op(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    given = arguments[0] if not callable(arguments[0]) else "op"
    insight.trace_op(given, lambda first: first, **more)(lambda first: None)(arguments[1])


def _log(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    insight.log(arguments[0], arguments[1], **more)


def _fact(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    first, second, third = arguments
    insight.fact(first, second, op=third, attempt=second, peer=first, outcome=third, reason=second, **more)


def _turn(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    with insight.turn(arguments[0], **more):
        pass


def _phase(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    with insight.phase(arguments[0], **more):
        pass


def _task(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    with insight.task(arguments[0], submitted_ns=arguments[1], **more) as task:
        task.set(**more)


def _finish(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    insight.finish_session(*arguments)


def _step(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    insight.set_step(arguments[0])
    insight.inject({"baggage": arguments[1]})
    with insight.extract(arguments[2]):
        insight.metric_gauge("x", 1)


# Each call with the number of lines it makes when nothing of it is dropped.
CALLS: list[tuple[int, Callable[[tuple[Any, ...], dict[str, Any]], None]]] = [
    (1, lambda arguments, more: insight.metric_gauge(*arguments, **more)),
    (1, lambda arguments, more: insight.metric_count(*arguments, **more)),
    (1, lambda arguments, more: insight.metric_histogram(*arguments, **more)),
    (1, _span),
    (1, _finished),
    (1, _state),
    (1, _op),
    (1, _log),
    (1, _fact),
    (1, _turn),
    (1, _phase),
    (1, _task),
    (1, _finish),
    (1, _step),
]

# A call of which one of these was counted made no line.
DROPPED = ("not_a_number", "bad_time", "bad_call")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.lists(
        st.tuples(st.sampled_from(range(len(CALLS))), st.tuples(names, anything, anything), keywords),
        min_size=1,
        max_size=8,
    )
)
def test_no_call_raises_and_every_accepted_one_is_a_line(calls: list[tuple[int, tuple[Any, ...], Any]]) -> None:
    with recording(ship={"flush_interval": 60.0}) as lines:
        expected = 0
        for number, arguments, more in calls:
            expected += CALLS[number][0]
            CALLS[number][1](real(arguments), real(more))
        found = decoded(lines.raw())
        problems = insight.status().problems
    assert [line["seq"] for line in found] == list(range(1, len(found) + 1))
    made = [line for line in found if line["kind"] not in ("process", "open", "lost")]
    lost = sum(line["count"] for line in of_kind(found, "lost"))
    dropped = sum(problems.get(kind, 0) for kind in DROPPED)
    assert len(made) + lost == expected - dropped


@pytest.mark.parametrize("which", range(len(ODD)), ids=lambda which: type(ODD[which]).__name__)
def test_each_odd_value_is_recorded_as_something(which: int) -> None:
    odd = ODD[which]
    for _, call in CALLS:
        call((odd, odd, odd), {"k": odd})
    with recording() as lines:
        for _, call in CALLS:
            call((odd, odd, odd), {"k": odd})
        decoded(lines.raw())
    with recording() as lines:
        insight.fact("a.b.put", {"tag": odd}, attr=odd, nested={"a": [odd]})
        insight.metric_gauge("x", 1.0, label=odd)
        with insight.trace_span("s", attributes={"attr": odd}):
            pass
        assert lines("lost") == []
        assert set(lines("fact")[0]["attrs"]) == {"attr", "nested"}
        assert set(lines("fact")[0]["tags"]) == {"tag"}
        assert set(lines("gauge")[0]["labels"]) == {"label"}
        assert set(lines("span")[0]["attrs"]) == {"attr"}


def test_enums_and_numbers_keep_what_they_say() -> None:
    with recording() as lines:
        insight.fact("a.b.put", None, level=Level.LOW, weird=Weird.A, path=Path("/x"), kind=int)
        assert lines("fact")[0]["attrs"] == {"level": 1, "weird": "a", "path": "/x", "kind": "int"}


def test_huge_values_are_cut() -> None:
    with recording() as lines:
        insight.fact("a.b.put", {"t": "x" * 10**6}, text_=[["y" * 10**6] * 1000] * 1000, deep=[[[0] * 300] * 300] * 300)
        assert len(lines.raw()) < 40 * 2**20
        assert len(lines("fact")[0]["tags"]["t"]) < 5000
