"""The collector answers when the log has a batch, and not before; what it refuses it does not keep."""

import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from rl_insight import config
from rl_insight.collect import START, Accepted, Busy, Collector, DiskFull, LineLog, Position, Stopping
from rl_insight.schema import BadLine, decode_lines

Gauges = Callable[..., bytes]


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    collector = Collector.open(tmp_path)
    yield collector
    collector.close()


def logged(log: LineLog) -> list[tuple[str, int]]:
    return [(line.proc, line.seq) for chunk in log.chunks(START) for line in decode_lines(chunk.data)]


def test_a_batch_is_answered_once_it_is_in_the_log(collector: Collector, gauges: Gauges) -> None:
    assert collector.submit(gauges(3)).result(10) == Accepted(3, 0)
    assert logged(collector.log) == [("p", 1), ("p", 2), ("p", 3)]
    assert collector.submit(gauges(5)).result(10) == Accepted(2, 3)
    assert collector.submit(gauges(5)).result(10) == Accepted(0, 5)
    status = collector.status()
    assert (status.accepted, status.duplicates, status.batches, status.state) == (5, 8, 3, "ok")
    assert (status.segment, status.offset) == collector.log.end


def test_nothing_is_answered_before_the_sync_and_waiting_batches_share_one(
    collector: Collector, gauges: Gauges, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    syncs: list[int] = []
    real = os.fdatasync

    def slow(file: int) -> None:
        gate.wait(10)
        syncs.append(file)
        real(file)

    monkeypatch.setattr(os, "fdatasync", slow)
    answers = [collector.submit(gauges(2, first=1 + 2 * i)) for i in range(50)]
    time.sleep(0.05)
    assert not any(answer.done() for answer in answers)
    assert collector.log.end == Position(1, 0), "readers are not shown what is not synced"
    gate.set()
    assert sum(answer.result(10).accepted for answer in answers) == 100
    assert len(syncs) <= 2


def test_a_bad_batch_is_refused_alone(collector: Collector, gauges: Gauges) -> None:
    good, bad, also_good = (collector.submit(body) for body in (gauges(2), b'{"kind":"gauge"}\n', gauges(2, first=3)))
    with pytest.raises(BadLine):
        bad.result(10)
    assert good.result(10).accepted == also_good.result(10).accepted == 2
    assert logged(collector.log) == [("p", 1), ("p", 2), ("p", 3), ("p", 4)]
    assert collector.status().refused == 1


def test_a_failed_sync_is_not_acknowledged_and_the_retry_is_stored_once(
    collector: Collector, gauges: Gauges, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        with pytest.raises(OSError, match="Input/output"):
            collector.submit(gauges(3)).result(10)
    assert logged(collector.log) == []
    assert "Input/output" in (collector.status().last_error or "")
    assert collector.submit(gauges(3)).result(10) == Accepted(3, 0)
    assert logged(collector.log) == [("p", 1), ("p", 2), ("p", 3)]


def test_a_full_disk_refuses_and_recovers(tmp_path: Path, gauges: Gauges, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = Collector.open(tmp_path, config.Collector(min_free_bytes=2**20))
    assert collector.submit(gauges(2)).result(10).accepted == 2
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=2**20))
        with pytest.raises(DiskFull, match="free some space"):
            collector.submit(gauges(4)).result(10)
        assert collector.status().state == "disk full"
    assert collector.submit(gauges(4)).result(10) == Accepted(2, 2)
    assert collector.status().state == "ok"
    assert len(logged(collector.log)) == 4
    collector.close()


def test_too_much_waiting_is_refused_at_once(tmp_path: Path, gauges: Gauges, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    real = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda file: (gate.wait(10), real(file)))
    collector = Collector.open(tmp_path, config.Collector(max_pending_bytes=1000))
    answers = [collector.submit(gauges(5)), collector.submit(gauges(5, first=6))]
    with pytest.raises(Busy):
        collector.submit(gauges(5, first=11))
    gate.set()
    assert all(answer.result(10).accepted == 5 for answer in answers)
    assert collector.submit(gauges(5, first=1000)).result(10).accepted == 5
    collector.close()


def test_stopping_finishes_what_waits_and_refuses_the_rest(tmp_path: Path, gauges: Gauges) -> None:
    collector = Collector.open(tmp_path)
    answers = [collector.submit(gauges(2, first=1 + 2 * i)) for i in range(20)]
    collector.stop()
    assert all(answer.result(0).accepted == 2 for answer in answers)
    with pytest.raises(Stopping):
        collector.submit(gauges(1, first=99))
    collector.close()


def test_an_answer_nobody_waits_for_does_not_hurt(collector: Collector, gauges: Gauges) -> None:
    for i in range(200):
        collector.submit(gauges(1, first=i + 1)).cancel()
    answer = collector.submit(gauges(200)).result(10)
    assert answer.accepted + answer.duplicates == 200
    assert logged(collector.log) == [("p", seq) for seq in range(1, 201)]


def test_a_restart_knows_what_the_store_has_and_what_the_log_has(tmp_path: Path, gauges: Gauges) -> None:
    settings = config.Collector(segment_bytes=500)
    first = Collector.open(tmp_path, settings)
    for i in range(20):
        first.submit(gauges(1, first=1 + i)).result(10)
    middle = Position(2, 0)
    first.close()
    again = Collector.open(tmp_path, settings, marks={"p": 5, "old": 7}, projected=middle)
    assert again.submit(gauges(25)).result(10) == Accepted(5, 20)
    assert again.submit(gauges(8, proc="old")).result(10) == Accepted(1, 7)
    again.close()
    fresh = Collector.open(tmp_path, settings)
    assert fresh.submit(gauges(25)).result(10) == Accepted(0, 25)
    fresh.close()


def test_a_log_that_has_less_than_the_store_is_not_written_over(tmp_path: Path, gauges: Gauges) -> None:
    collector = Collector.open(tmp_path, marks={"p": 10}, projected=Position(7, 1234))
    collector.submit(gauges(12)).result(10)
    assert collector.log.end > Position(7, 1234)
    assert logged(collector.log) == [("p", 11), ("p", 12)]
    collector.close()


def test_senders_in_many_threads_that_repeat_themselves_store_each_line_once(
    collector: Collector, gauges: Gauges
) -> None:
    def send(proc: str) -> None:
        chance = random.Random(proc)
        waiting: list[Future[Accepted]] = []
        for i in range(40):
            body = gauges(5, first=1 + 5 * i, proc=proc)
            waiting += [collector.submit(body) for _ in range(chance.randint(1, 3))]
            if chance.random() < 0.5:
                for answer in waiting:
                    answer.result(10)
        for answer in waiting:
            answer.result(10)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, [f"p{n}" for n in range(8)]))
    lines = logged(collector.log)
    assert len(lines) == len(set(lines)) == 8 * 200


def test_a_follower_sees_lines_as_they_are_acknowledged(collector: Collector, gauges: Gauges) -> None:
    told = threading.Event()
    follower = collector.subscribe(told.set)
    collector.submit(gauges(3)).result(10)
    assert told.wait(10)
    assert follower.get(10) == gauges(3)
    assert follower.take() == b""
    collector.submit(gauges(3)).result(10)
    assert follower.get(0.01) == b"", "duplicates are nothing new"
    follower.close()
    assert follower.get(10) is None


def test_a_slow_follower_is_told_what_it_missed_and_holds_nobody_up(collector: Collector, gauges: Gauges) -> None:
    follower = collector.subscribe(limit=500)
    for i in range(100):
        collector.submit(gauges(1, first=1 + i)).result(10)
    seen = follower.get(10) or b""
    lines, skipped = seen.count(b'"kind"'), seen.splitlines()[-1]
    assert 0 < lines < 100
    assert skipped == b'{"skipped":%d}' % (100 - lines)
    collector.submit(gauges(1, first=101)).result(10)
    assert follower.get(10) == gauges(1, first=101)


def test_stopping_ends_the_followers(tmp_path: Path) -> None:
    collector = Collector.open(tmp_path)
    follower = collector.subscribe()
    collector.close()
    assert follower.get(10) is None
