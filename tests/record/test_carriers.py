"""The place in the tree, carried to another process by W3C trace context."""

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rl_insight as insight
from rl_insight.testing import Lines, recording

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CARRIER = {"traceparent": f"00-{TRACE}-{SPAN}-01"}


def test_a_span_continues_where_the_carrier_was(lines: Lines) -> None:
    with insight.trace_span("here"), insight.extract(CARRIER), insight.trace_span("there"):
        insight.log("info", "inside")
    there, here = lines("span")
    assert (there["trace"], there["parent"]) == (TRACE, SPAN)
    assert here["trace"] != TRACE
    assert lines("log")[0]["trace"] == TRACE


def test_inject_and_extract_round_trip(lines: Lines) -> None:
    with insight.task("t=1, ä"), insight.session("s;1"), insight.trace_span("sender"):
        carrier = insight.inject({"other": "kept"})
    assert carrier["other"] == "kept"
    with insight.extract(carrier), insight.trace_span("receiver"):
        pass
    sender, receiver = lines("span")[0], lines("span")[-1]
    assert (receiver["parent"], receiver["trace"]) == (sender["id"], sender["trace"])
    assert (receiver["task"], receiver["session"]) == ("t=1, ä", "s;1")


def test_inject_nowhere_leaves_the_carrier_alone(lines: Lines) -> None:
    assert insight.inject() == {}
    assert insight.inject({"a": "b"}) == {"a": "b"}


def test_baggage_of_others_is_kept(lines: Lines) -> None:
    with insight.task("t1"):
        carrier = insight.inject({"baggage": "k=v,rl_insight.task=old"})
    assert carrier["baggage"] == "k=v,rl_insight.task=t1"


def test_a_span_may_be_given_its_parent_alone(lines: Lines) -> None:
    with insight.trace_span("here") as here:
        with insight.trace_span("there", parent_carrier=CARRIER), insight.trace_span("inner"):
            pass
        assert insight.current_span() is here
    inner, there, _ = lines("span")
    assert (there["parent"], there["trace"], inner["trace"]) == (SPAN, TRACE, TRACE)
    assert inner["parent"] == there["id"]


@pytest.mark.parametrize(
    "bad",
    [
        {"traceparent": "nonsense"},
        {"traceparent": f"00-{'0' * 32}-{SPAN}-01"},
        {"traceparent": f"00-{TRACE}-{'0' * 16}-01"},
        {"traceparent": f"ff-{TRACE}-{SPAN}-01"},
        {"traceparent": 7},
        {},
        {"baggage": "%%%,=,;"},
    ],
)
def test_a_carrier_that_says_nothing_changes_nothing(lines: Lines, bad: Any) -> None:
    with insight.extract(bad), insight.trace_span("x", parent_carrier=bad):
        pass
    assert "parent" not in lines("span")[0]


@pytest.mark.parametrize("bad", [7, "text", [1], object()])
def test_a_carrier_of_another_type_is_counted(lines: Lines, bad: Any) -> None:
    with insight.extract(bad), insight.trace_span("x", parent_carrier=bad):
        pass
    assert insight.extract(None) is not None
    assert len(lines("span")) == 1
    assert insight.status().problems == {"bad_carrier": 2}


def test_a_carrier_that_cannot_be_written_raises_nothing(lines: Lines) -> None:
    with insight.trace_span("x"):
        insight.inject(MappingProxyType({}))  # type: ignore[arg-type]
    assert insight.status().problems == {"bad_call": 1}


def test_carriers_before_init_do_nothing() -> None:
    assert insight.inject() == {}
    with insight.extract(CARRIER):
        assert insight.current_span() is None


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["traceparent", "baggage", "Baggage"]), st.text(max_size=80)))
def test_no_header_whatsoever_raises(headers: dict[str, str]) -> None:
    with recording() as lines:
        with insight.extract(headers), insight.trace_span("x", parent_carrier=headers):
            insight.inject(dict(headers))
        assert len(lines("span")) == 1
