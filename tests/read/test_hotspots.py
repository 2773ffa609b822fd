"""Own times, shares and the flame graph are those that a walk through the spans gives."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import TS
from rl_insight.read.flame import Node, flame, tree
from rl_insight.read.hotspots import examples, hotspots
from rl_insight.read.search import BadSearch
from stored import MS, Recorder, covered, stored


@st.composite
def forests(draw: st.DrawFn) -> list[Recorder]:
    recorders = [Recorder(f"p{rank}", draw(st.sampled_from(["rollout", "trainer"])), rank) for rank in range(2)]
    made: list[str] = []
    for number in range(draw(st.integers(1, 25))):
        start = draw(st.integers(0, 50))
        parent = draw(st.none() | st.sampled_from(made)) if made else None
        part = draw(st.sampled_from([None, None, "phase", "state"]))
        made.append(f"n{number}")
        draw(st.sampled_from(recorders)).span(
            draw(st.sampled_from(["a", "b", "c"])),
            start,
            start + draw(st.integers(0, 30)),
            id=f"n{number}",
            trace="one",
            parent=None if part == "state" else parent,
            part=part,
            step=draw(st.integers(1, 2)),
            lane="lane",
            status=draw(st.sampled_from([None, None, "error"])),
            attrs={"tool": draw(st.sampled_from(["x", "y"]))},
        )
    return recorders


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(forests())
def test_own_time_is_what_no_child_covers(recorders: list[Recorder]) -> None:
    spans = [line for recorder in recorders for line in recorder.lines if line["kind"] == "span"]
    children: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        if "parent" in span:
            children[span["parent"]].append((span["ts"], span["ts"] + span["dur"]))
    own: dict[tuple[str, str], float] = defaultdict(float)
    durations: dict[tuple[str, str], list[int]] = defaultdict(list)
    for span in spans:
        key = (span["name"], span.get("part", "span"))
        inner = [] if key[1] == "state" else children[span["id"]]
        own[key] += (span["dur"] - covered(inner, span["ts"], span["ts"] + span["dur"])) / 1e9
        durations[key].append(span["dur"])
    with tempfile.TemporaryDirectory() as folder, stored(Path(folder), *(one.body() for one in recorders)) as store:
        found = hotspots(store, scope="all")
        drawn = flame(store, scope="all").root
        step = hotspots(store, step=1)
        of_rollout = hotspots(store, scope="all", role="rollout", by="attr:tool")
    assert found.spans == len(spans)
    assert {(one.name, one.part) for one in found.stages} == durations.keys()
    for one in found.stages:
        key = (one.name, one.part)
        assert one.count == len(durations[key])
        assert one.total_s == pytest.approx(sum(durations[key]) / 1e9)
        assert one.max_s == pytest.approx(max(durations[key]) / 1e9)
        assert one.self_s == pytest.approx(own[key], abs=1e-9)
    for states in (True, False):
        shares = [one.share for one in found.stages if (one.part == "state") is states]
        if shares and any(own[one.name, one.part] for one in found.stages if (one.part == "state") is states):
            assert sum(shares) == pytest.approx(1.0)
    assert step.spans == sum(span["step"] == 1 for span in spans)
    roles = {recorder.proc: recorder.lines[0]["role"] for recorder in recorders}
    assert sum(one.count for one in of_rollout.stages) == sum(roles[span["proc"]] == "rollout" for span in spans)
    plain = [span for span in spans if span.get("part") != "state"]
    assert _count(drawn) == len(plain)
    assert _own(drawn) == pytest.approx(sum(own[key] for key in own if key[1] != "state"), abs=1e-9)


def _count(node: Node) -> int:
    return (0 if node.part is None else node.count) + sum(_count(child) for child in node.children)


def _own(node: Node) -> float:
    return node.self_s + sum(_own(child) for child in node.children)


def test_beyond_the_limit_whole_traces_are_sampled_and_scaled(tmp_path: Path) -> None:
    recorder = Recorder("p", "trainer")
    for number in range(400):
        start = number * 10
        recorder.span("outer", start, start + 10, id=f"o{number}", trace=f"{number:032x}", step=1)
        recorder.span(
            "inner", start + 2, start + 6, id=f"i{number}", parent=f"o{number}", trace=f"{number:032x}", step=1
        )
    with stored(tmp_path, recorder.body()) as store:
        found = hotspots(store, scope="all", sampled_above=200)
        drawn = flame(store, scope="all", sampled_above=200)
    assert found.sampled == drawn.sampled == 0.25
    own = {one.name: one.self_s for one in found.stages}
    assert own == pytest.approx({"outer": 400 * 0.006, "inner": 400 * 0.004})
    (outer,) = drawn.root.children
    assert outer.self_s / outer.total_s == pytest.approx(0.6)
    assert 200 <= outer.count <= 700


def test_what_does_not_fit_into_a_flame_is_folded() -> None:
    rows: list[dict[str, Any]] = [
        {"path": ["span a"], "count": 1, "total_s": 10.0, "self_s": 1.0, "errors": 0},
        *(
            {"path": ["span a", f"span {n}"], "count": 1, "total_s": 9.0 - n, "self_s": 9.0 - n, "errors": n}
            for n in range(5)
        ),
    ]
    root = tree(rows, 3)
    (a,) = root.children
    assert [child.name for child in a.children] == ["0", "1", "(other)"]
    assert (a.children[2].total_s, a.children[2].count, a.children[2].errors) == (7 + 6 + 5, 3, 9)


def test_the_slowest_examples_of_a_stage_come_with_their_attributes(tmp_path: Path) -> None:
    recorder = Recorder("p")
    for number in range(30):
        recorder.span("tool", 0, number, part="phase", session=f"s{number}", attrs={"tool": "x", "number": number})
    recorder.span("tool_box", 0, 500)
    with stored(tmp_path, recorder.body()) as store:
        found = examples(store, name="tool", scope="all", limit=3)
        assert [one.session for one in found.examples] == ["s29", "s28", "s27"]
        assert found.examples[0].attrs == {"tool": "x", "number": 29}
        assert found.examples[0].start == pytest.approx(TS / 1e6)
        assert {one.name for one in hotspots(store, name="tool", scope="all").stages} == {"tool", "tool_box"}
        within = hotspots(store, since=TS / 1e6 + 20.5, until=TS / 1e6 + 1000).stages
        assert {one.name: one.count for one in within} == {"tool": 9, "tool_box": 1}
        for wrong in ({"by": "colour"}, {"sort": "size"}, {"part": "piece"}, {"scope": "some"}):
            with pytest.raises(BadSearch):
                hotspots(store, **wrong)
    assert MS == 10**6
