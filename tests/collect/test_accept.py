"""Each line is kept exactly once, whatever a sender repeats, and no line is handled in Python."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_insight.collect import accept
from rl_insight.collect.accept import check
from rl_insight.collect.marks import Marks
from rl_insight.schema import BadLine, Gauge, decode_lines, encode_lines

Gauges = Callable[..., bytes]


def body_of(keys: list[tuple[str, int]]) -> bytes:
    return encode_lines([Gauge(proc=proc, seq=seq, ts=seq, name="n", value=1.0) for proc, seq in keys])


def keys_of(data: bytes) -> list[tuple[str, int]]:
    return [(line.proc, line.seq) for line in decode_lines(data)]


def test_the_next_lines_of_a_process_go_to_the_log_as_they_came(gauges: Gauges) -> None:
    body = gauges(100, first=11)
    checked = check(body, Marks({"p": 10}))
    assert checked.data is body
    assert (checked.accepted, checked.duplicates, checked.marks) == (100, 0, {"p": 110})


def test_what_is_not_above_the_mark_is_left_out(gauges: Gauges) -> None:
    checked = check(gauges(10), Marks({"p": 4}))
    assert checked.data == gauges(6, first=5)
    assert (checked.accepted, checked.duplicates, checked.marks) == (6, 4, {"p": 10})
    assert check(gauges(10), Marks({"p": 10})) == (b"", 0, 10, {})


def test_a_jump_is_accepted(gauges: Gauges) -> None:
    assert check(gauges(2) + gauges(2, first=9), Marks()).marks == {"p": 10}


def test_an_empty_body_holds_nothing() -> None:
    assert check(b"", Marks()) == (b"", 0, 0, {})
    assert check(b"\n", Marks()) == (b"", 0, 0, {})


def test_lines_out_of_order_in_a_batch_are_all_kept_in_order() -> None:
    checked = check(body_of([("p", 3), ("q", 2), ("p", 1), ("p", 3), ("q", 1)]), Marks())
    assert keys_of(checked.data) == [("p", 1), ("p", 3), ("q", 1), ("q", 2)]
    assert (checked.accepted, checked.duplicates) == (4, 1)


def test_a_bad_line_late_in_a_large_body_is_named_and_nothing_is_kept(gauges: Gauges) -> None:
    body = gauges(20_000)
    assert len(body) > 2 * accept.PIECE_BYTES
    marks = Marks()
    with pytest.raises(BadLine) as refused:
        check(body + b'{"kind":"gauge"}\n', marks)
    assert refused.value.number == 20_001
    assert marks.get("p") == 0


def test_a_large_body_is_one_batch(gauges: Gauges) -> None:
    body = gauges(20_000)
    assert check(body, Marks()).data is body
    checked = check(body + body, Marks({"p": 5}))
    assert (checked.accepted, checked.duplicates, checked.marks) == (19_995, 20_005, {"p": 20_000})
    assert checked.data == gauges(19_995, first=6)


procs = st.sampled_from(["a", "b", "c"])


@st.composite
def deliveries(draw: st.DrawFn) -> list[list[tuple[str, int]]]:
    """What senders deliver: each process's batches in order, any of them again and again, cut anew or joined."""
    batches: list[list[tuple[str, int]]] = []
    sent: dict[str, int] = {}
    for _ in range(draw(st.integers(1, 25))):
        proc = draw(procs)
        top = sent.get(proc, 0)
        # A retry may begin anywhere in what was sent, and go on with lines that are new.
        start = draw(st.integers(max(1, top - 8), top + 1))
        keys = [(proc, seq) for seq in range(start, start + draw(st.integers(1, 10)))]
        if draw(st.booleans()) and batches:
            other = draw(st.sampled_from(batches))  # an old batch on top, as a merged retry
            keys = [*other, *keys]
        if draw(st.integers(0, 4)) == 0:
            keys = draw(st.permutations(keys))
        for one, seq in keys:
            sent[one] = max(sent.get(one, 0), seq)
        batches.append(keys)
    return batches


@given(deliveries(), st.sampled_from([200, 2**18]))
@settings(max_examples=300, deadline=None)
def test_whatever_is_sent_again_each_line_is_kept_once_and_in_order(
    batches: list[list[tuple[str, int]]], piece: int
) -> None:
    with mock.patch.object(accept, "PIECE_BYTES", piece):
        log = accept_all(batches)
    assert len(log) == len(set(log)), "kept twice"
    assert set(log) == {key for keys in batches for key in keys}, "lost"
    for proc in "abc":
        seqs = [seq for one, seq in log if one == proc]
        assert seqs == sorted(seqs)


def accept_all(batches: list[list[tuple[str, int]]]) -> list[tuple[str, int]]:
    """Accept batches one after the other, some of them twice because the disk was full; returns the log."""
    marks = Marks()
    log: list[tuple[str, int]] = []
    for number, keys in enumerate(batches):
        checked = check(body_of(keys), marks)
        assert checked.accepted + checked.duplicates == len(keys)
        if number % 5 == 4:
            marks.forget()  # the disk was full: the sender sends it again
            marks.stage(check(body_of(keys), marks).marks)
        else:
            marks.stage(checked.marks)
        marks.commit()
        log += keys_of(checked.data)
    return log


def python_calls(work: Callable[[], Any]) -> int:
    """How many Python and C functions are called from Python code while `work` runs."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    gc.disable()  # its callbacks are calls as well
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


@pytest.mark.parametrize("shape", ["in order", "repeated", "mixed", "mixed up"])
def test_accepting_takes_the_same_steps_for_ten_lines_and_for_ten_thousand(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accept, "PIECE_BYTES", 2**30)

    def body(count: int) -> bytes:
        keys = [("pq"[i % 2] if shape.startswith("mixed") else "p", i + 1) for i in range(count)]
        if shape == "mixed up":
            keys.reverse()
        return body_of(keys)

    marks = Marks({"p": 4} if shape == "repeated" else {})
    few, many = body(10), body(10_000)
    assert python_calls(lambda: check(few, marks)) == python_calls(lambda: check(many, marks))


def test_a_body_is_taken_in_pieces_of_many_lines(gauges: Gauges) -> None:
    body = gauges(20_000)
    pieces = len(body) / accept.PIECE_BYTES
    assert python_calls(lambda: check(body, Marks())) < 60 * (pieces + 1) < 20_000 / 20
