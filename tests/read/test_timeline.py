"""What everyone was doing: exact where there is room, merged where there is not, and never wrong in sum."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness import TS, encode, process_line
from rl_insight.read.about import NoSuchRun
from rl_insight.read.timeline import beside, lanes, span, statistics, summary, timeline
from rl_insight.store import Store
from stored import MS, S, stored

NAMES = ["generate", "tool", "idle", "wait_batch"]
LENGTH = 20 * S


def state(seq: int, start: int, dur: int, name: str, lane: str = "a", **more: Any) -> dict[str, Any]:
    line = {"kind": "span", "proc": "p", "seq": seq, "ts": TS + start, "name": name, "dur": dur, "id": f"{seq:x}"}
    return {**line, "lane": lane, "part": "state", **more}


def states(seed: int = 1) -> list[dict[str, Any]]:
    """Two lanes filled without gaps by states of very different lengths."""
    rng = random.Random(seed)
    made, seq = [], 1
    for lane in ("a", "b"):
        at = 0
        while at < LENGTH:
            dur = min(int(10 ** rng.uniform(4, 9)), LENGTH - at)
            seq += 1
            made.append(state(seq, at, dur, rng.choice(NAMES), lane))
            at += dur
    return made


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    body = encode(process_line("p", role="worker", rank=0, state="finished"), *states())
    with stored(tmp_path_factory.mktemp("timeline"), body) as store:
        yield store


def ask(store: Store, *arguments: Any, **more: Any) -> dict[str, Any]:
    """The timeline as a client gets it."""
    return msgspec.json.decode(msgspec.json.encode(timeline(store, "run-1", *arguments, **more)))  # type: ignore[no-any-return]


def test_lanes_are_told_with_their_process(store: Store) -> None:
    found = lanes(store, "latest").lanes
    assert [(one.lane, one.worker, one.states == one.spans) for one in found] == [
        ("a", "worker-0", True),
        ("b", "worker-0", True),
    ]


def test_zoomed_in_every_interval_is_told_exactly(store: Store) -> None:
    first = min(states(), key=lambda line: line["ts"] if line["lane"] == "a" else 2**63)
    begin, end = first["ts"] - MS, first["ts"] + first["dur"] // 2
    answer = ask(store, [("p", "a")], begin / 1e6, end / 1e6, 4000)
    (track,) = [one for one in answer["tracks"] if one["what"] == "spans"]
    start, length, name, seq, bad = next(item for item in track["items"] if item[3] == first["seq"])
    # Moments in ms as floats are exact to a quarter of a microsecond.
    assert abs(start - (first["ts"] - begin) // 1000) <= 1
    assert (length, answer["names"][name], bad) == (first["dur"] // 1000, first["name"], 0)
    assert seq == first["seq"]


@pytest.mark.parametrize("px", [20, 100, 1000])
def test_merging_loses_no_interval_and_no_time(store: Store, px: int) -> None:
    answer = ask(store, [("p", "a"), ("p", "b")], TS / 1e6, (TS + LENGTH) / 1e6, px)
    width = answer["block_ms"]
    for number, lane in enumerate(("a", "b")):
        tracks = [one for one in answer["tracks"] if one["lane"] == number]
        told = sum(1 for one in tracks if one["what"] == "spans" for _ in one["items"])
        told += sum(item[1] for one in tracks if one["what"] == "blocks" for item in one["items"])
        real = [one for one in states() if one["lane"] == lane]
        assert told == len(real)
        long = sum(item[1] / 1e3 for one in tracks if one["what"] == "spans" for item in one["items"])
        short = sum(item[3] / 100 * width for one in tracks if one["what"] == "blocks" for item in one["items"])
        blocks = sum(len(one["items"]) for one in tracks if one["what"] == "blocks")
        # A block's share is told in whole percent.
        assert abs(long + short - LENGTH / 1e6) <= blocks * width * 0.006 + 1
        assert all(item[0] < px * 1.1 for one in tracks if one["what"] == "blocks" for item in one["items"])


def test_answer_stays_small_whatever_is_asked_for(tmp_path: Path) -> None:
    spans = [state(seq, seq * 1000, 900, "generate", f"l{seq % 300}") for seq in range(2, 60_000)]
    with stored(tmp_path, encode(process_line("p"), *spans)) as many:
        everything = ask(many, [("p", f"l{n}") for n in range(300)], None, None, 4000)
        assert len(json.dumps(everything)) < 2_000_000


@pytest.mark.parametrize("buckets", [1, 7, 200])
def test_summary_adds_up_to_the_number_of_lanes(store: Store, buckets: int) -> None:
    answer = summary(store, "run-1", TS / 1e6, (TS + LENGTH) / 1e6, buckets)
    for at in range(buckets):
        assert sum(one.lanes[at] for one in answer.states) == pytest.approx(2, abs=0.01)


def test_summary_agrees_with_counting_by_hand(store: Store) -> None:
    begin, end, buckets = TS + 3 * S + 17, TS + 9 * S + 5, 40
    answer = summary(store, "run-1", begin / 1e6, end / 1e6, buckets)
    width = (end - begin) / buckets
    for one in answer.states:
        for at in range(buckets):
            low, high = begin + at * width, begin + (at + 1) * width
            real = sum(
                max(0.0, min(high, line["ts"] + line["dur"]) - max(low, line["ts"]))
                for line in states()
                if line["name"] == one.name
            )
            assert one.lanes[at] == pytest.approx(real / width, abs=0.01)


def test_statistics_count_only_what_lies_in_the_range(store: Store) -> None:
    begin, end = TS + 5 * S, TS + 6 * S
    answer = statistics(store, "run-1", begin / 1e6, end / 1e6)
    assert sum(one.s for one in answer.names) == pytest.approx(2.0, abs=1e-5)
    waiting = sum(one.s for one in answer.names if one.name in ("idle", "wait_batch"))
    assert sum(one.waiting_s for one in answer.lanes) == pytest.approx(waiting, abs=1e-5)


def test_open_work_is_told_and_counted_until_now(tmp_path: Path) -> None:
    running = {
        "kind": "open",
        "proc": "p",
        "seq": 3,
        "ts": TS + 4 * S,
        "name": "tool",
        "id": "3",
        "lane": "a",
        "part": "state",
    }
    last = {"kind": "gauge", "proc": "p", "seq": 4, "ts": TS + 10 * S, "name": "x", "value": 1.0}
    body = encode(process_line("p", role="w"), state(2, 0, 4 * S, "generate"), running, last)
    with stored(tmp_path, body) as open_store:
        answer = ask(open_store, [("p", "a")], None, None, 1000)
        assert [(one["part"], answer["names"][one["name"]], one["seq"]) for one in answer["open"]] == [
            ("state", "tool", 3)
        ]
        shares = {one.name: one.s for one in statistics(open_store, "run-1", None, None).names}
        assert shares == {"generate": 4.0, "tool": 6.0}
        detail = span(open_store, "run-1", "p", 3)
        assert detail is not None
        assert detail.open
        assert detail.dur_ms is None


def test_next_and_previous_stay_on_the_lane(store: Store) -> None:
    order = [one["seq"] for one in sorted(states(), key=lambda line: line["ts"]) if one["lane"] == "b"]
    walked = [order[0]]
    for _ in range(5):
        found = beside(store, "run-1", "p", walked[-1], True)
        assert found is not None
        walked.append(found.seq)
    assert walked == order[:6]
    back = beside(store, "run-1", "p", order[1], False)
    assert back is not None
    assert back.seq == order[0]
    assert beside(store, "run-1", "p", order[0], False) is None


def test_a_run_that_is_not_there_is_said_to_be(store: Store) -> None:
    with pytest.raises(NoSuchRun):
        lanes(store, "nobody")


def test_quantiles_of_very_many_come_from_a_part_of_them(store: Store) -> None:
    exact = statistics(store, "run-1", None, None)
    assert exact.sampled == 1.0
    part = statistics(store, "run-1", None, None, "names", sample=50)
    assert part.sampled < 1
    assert part.lanes == []
    assert statistics(store, "run-1", None, None, "lanes").lanes == exact.lanes
    # Names are few here, so each is told by all of its intervals.
    assert part.names == exact.names


def test_a_sample_tells_the_quantiles_of_frequent_names(tmp_path: Path) -> None:
    spans = [state(seq, seq * 1000, 1 + seq * 7919 % 1000, "generate") for seq in range(2, 40_000)]
    with stored(tmp_path, encode(process_line("p"), *spans)) as many:
        (exact,) = statistics(many, "run-1", None, None, "names").names
        (part,) = statistics(many, "run-1", None, None, "names", sample=4000).names
        assert (part.n, part.s, part.max_s) == (exact.n, exact.s, exact.max_s)
        assert part.p50_s == pytest.approx(exact.p50_s, rel=0.1)
        assert part.p95_s == pytest.approx(exact.p95_s, rel=0.05)
