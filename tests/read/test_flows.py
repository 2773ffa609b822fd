"""Deliveries are paired across processes, and of what has not arrived the verdict is no more than can be known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness import TS, encode
from rl_insight.read.as_of import AsOf
from rl_insight.read.clocks import Corrected
from rl_insight.read.flows import Flows, flows
from rl_insight.read.timeline import lanes, statistics, timeline
from stored import MS, Recorder, stored

LATER = 60_000.0


def ask(store: Any, *recorders: Recorder, at: float = LATER, **more: Any) -> Flows:
    return flows(store, "run-1", now=TS + round(at * MS), **more)


def told(tmp_path: Path, *recorders: Recorder, at: float = LATER, **more: Any) -> Flows:
    """What a store with these processes tells."""
    with stored(tmp_path, *(one.body() for one in recorders)) as store:
        return ask(store, at=at, **more)


def brief(found: Flows) -> list[tuple[str, str | None, str]]:
    return sorted((one.sender, one.receiver, one.verdict) for one in found.flows)  # type: ignore[type-var]


def alive(recorder: Recorder, at: float = LATER) -> Recorder:
    recorder.gauge("alive", at, 1.0)
    return recorder


def test_each_of_a_broadcast_is_paired_with_its_own_receiver(tmp_path: Path) -> None:
    trainer = Recorder("t", "trainer")
    workers = [Recorder(f"w{rank}", "rollout", rank) for rank in range(3)]
    for rank, worker in enumerate(workers):
        trainer.fact("weights.version.sent", 100 + rank, {"weights": "7"}, peer=f"rollout-{rank}")
        # The first to be sent to is the last to receive.
        worker.fact("weights.version.received", 200 - rank, {"weights": "7"}, peer="trainer")
        worker.fact("weights.version.applied", 230 - rank, {"weights": "7"})
    found = told(tmp_path, trainer, *workers)
    assert brief(found) == [("t", "w0", "found"), ("t", "w1", "found"), ("t", "w2", "found")]
    took = {one.receiver: (one.arrived or 0) - one.sent for one in found.flows}
    assert took == pytest.approx({"w0": 100, "w1": 98, "w2": 96}, abs=0.01)
    assert all((one.done or 0) - (one.arrived or 0) == pytest.approx(30, abs=0.01) for one in found.flows)
    (kind,) = found.kinds
    assert (kind.stem, kind.opened, kind.n, kind.found) == ("weights.version", "sent", 3, 3)
    assert kind.max_s == pytest.approx(0.1, abs=1e-6)


def test_a_receiver_says_from_whom_and_a_resent_one_is_the_last(tmp_path: Path) -> None:
    senders = [Recorder(f"t{rank}", "trainer", rank) for rank in range(2)]
    worker = Recorder("w", "rollout")
    for rank, sender in enumerate(senders):
        sender.fact("net.part.sent", 100, {"msg": "1"}, peer="rollout-0")
        sender.fact("net.part.sent", 300, {"msg": "1"}, peer="rollout-0", attempt=2)
        worker.fact("net.part.received", 310 + rank, {"msg": "1"}, peer=f"trainer-{rank}")
    found = [one for one in told(tmp_path, *senders, worker).flows if one.verdict == "found"]
    assert sorted((one.sender, round((one.arrived or 0) - one.sent)) for one in found) == [("t0", 10), ("t1", 11)]


def test_a_queue_hands_over_and_one_process_alone_does_not(tmp_path: Path) -> None:
    controller, trainer = Recorder("c", "controller"), Recorder("t", "trainer")
    for task in ("a", "b", "c", "d"):
        controller.fact("queue.sample.put", 100, {"task": task, "queue": "replay"})
    trainer.fact("queue.sample.taken", 400, {"task": "a", "queue": "replay", "batch": "1"})
    controller.fact("queue.sample.evicted", 500, {"task": "b", "queue": "replay"}, reason="too stale")
    controller.fact("queue.sample.taken", 500, {"task": "c", "queue": "replay"})
    found = told(tmp_path, alive(controller), alive(trainer))
    by_value = {one.value: one for one in found.flows}
    assert {value: one.verdict for value, one in by_value.items()} == {"a": "found", "b": "evicted", "d": "pending"}
    assert by_value["b"].reason == "too stale"


def asked_for(tmp_path: Path, worker: Recorder, at: float = LATER) -> str:
    """The verdict on a message that this worker has not recorded, though another has its own."""
    trainer, other = Recorder("t", "trainer"), Recorder("w1", "rollout", 1)
    for peer in ("rollout-0", "rollout-1"):
        trainer.fact("weights.version.sent", 1000, {"weights": "1"}, peer=peer)
    other.fact("weights.version.received", 1010, {"weights": "1"})
    found = told(tmp_path, alive(trainer), alive(other), worker, at=at)
    (verdict,) = [one.verdict for one in found.flows if one.receiver == worker.proc]
    return verdict


def test_missing_only_when_the_peer_was_there_past_the_deadline(tmp_path: Path) -> None:
    assert asked_for(tmp_path / "missing", alive(Recorder("w0", "rollout", 0))) == "missing"
    assert asked_for(tmp_path / "ended", alive(Recorder("w0", "rollout", 0), 2000)) == "unknown"
    assert asked_for(tmp_path / "pending", alive(Recorder("w0", "rollout", 0), 2000), at=2500) == "pending"


def test_who_lost_lines_cannot_be_said_to_lack_one(tmp_path: Path) -> None:
    holed = alive(Recorder("w0", "rollout", 0))
    holed.lines[-1]["seq"] += 3
    assert asked_for(tmp_path / "hole", holed) == "unknown"
    lossy = alive(Recorder("w0", "rollout", 0))
    lossy._add("lost", 500, "fact", count=2, reason="buffer full")
    assert asked_for(tmp_path / "lost", lossy) == "unknown"


def test_what_nobody_records_the_arrival_of_is_not_called_missing(tmp_path: Path) -> None:
    trainer, worker = Recorder("t", "trainer"), Recorder("w0", "rollout")
    trainer.fact("weights.version.sent", 100, {"weights": "1"}, peer="rollout-0")
    found = told(tmp_path, alive(trainer), alive(worker))
    assert (found.total, found.flows, found.unrecorded) == (0, [], ["weights.version.sent"])


def test_a_window_tells_what_was_under_way_in_it(tmp_path: Path) -> None:
    sender, receiver = Recorder("s", "a"), Recorder("r", "b")
    for number, (sent, arrived) in enumerate([(100, 200), (100, 600), (550, 700), (100, 2000), (900, 1000)]):
        sender.fact("net.part.sent", sent, {"msg": str(number)})
        receiver.fact("net.part.received", arrived, {"msg": str(number)})
    window = {"since": (TS + 500 * MS) / 1e6, "until": (TS + 800 * MS) / 1e6}
    found = told(tmp_path, alive(sender), alive(receiver), **window)
    assert sorted(one.value for one in found.flows) == ["1", "2", "3"]


def offset_run() -> tuple[Recorder, Recorder]:
    """The receiver's clock is two seconds behind."""
    sender = Recorder("s", "a", clock_offset=0)
    receiver = Recorder("r", "b", clock_offset=2000 * MS)
    sender.fact("net.part.sent", 5000, {"msg": "1"})
    receiver.fact("net.part.received", 3010, {"msg": "1"})
    receiver.span("work", 3000, 4000, part="state", lane="l")
    return alive(sender), alive(receiver, LATER - 2000)


def test_clocks_put_right_in_views_and_never_in_lines(tmp_path: Path) -> None:
    with stored(tmp_path, *(one.body() for one in offset_run())) as store:
        (recorded,) = ask(store).flows
        assert (recorded.arrived or 0) - recorded.sent == pytest.approx(-1990, abs=0.01)
        for source in (Corrected(store), Corrected(AsOf(store, TS + round(LATER * MS)))):
            (flow,) = ask(source).flows
            assert (flow.arrived or 0) - flow.sent == pytest.approx(10, abs=0.01)
            shown = timeline(source, "run-1", [("r", "l")], TS / 1e6, (TS + 9000 * MS) / 1e6, 1000)
            ((start, *_),) = msgspec.json.decode(bytes(shown.tracks[0].items))
            assert start == 5_000_000
            assert statistics(source, "run-1", (TS + 4900 * MS) / 1e6, (TS + 6100 * MS) / 1e6).names[0].s == 1.0
        assert lanes(store, "run-1").lanes[0].first == pytest.approx((TS + 3000 * MS) / 1e6)


def test_an_arrow_ends_on_the_lane_that_the_fact_was_recorded_in(tmp_path: Path) -> None:
    worker, reward = Recorder("w", "rollout"), Recorder("r", "reward")
    worker.span("reward", 100, 300, part="phase", lane="worker-0/1", trace="T")
    worker.fact("reward.score.requested", 110, {"reward": "s"}, peer="reward", trace="T")
    reward.span("score", 150, 250, part="state", lane="reward/2", trace="T")
    reward.fact("reward.score.answered", 240, {"reward": "s"}, outcome="error", reason="no verifier", trace="T")
    (flow,) = told(tmp_path, worker, reward).flows
    assert (flow.sender_lane, flow.receiver_lane) == ("worker-0/1", "reward/2")
    assert (flow.verdict, flow.reason) == ("rejected", "no verifier")


def test_many_are_told_as_few_and_the_slowest_are_among_them(tmp_path: Path) -> None:
    sender, receiver = Recorder("s", "a"), Recorder("r", "b")
    for number in range(3000):
        sender.fact("net.part.sent", number, {"msg": str(number)})
        receiver.fact("net.part.received", number + (900 if number == 77 else 5), {"msg": str(number)})
    with stored(tmp_path, sender.body(), receiver.body()) as store:
        whole = ask(store, px=200)
        assert whole.total == 3000
        assert sum(one.n for one in whole.flows) == 3000
        assert len(whole.flows) <= 400
        assert whole.flows[0].value == "77"
        few = ask(store, px=4000, most=10)
        assert (few.cut, len(few.flows), few.flows[0].value) == (True, 10, "77")
        newest = ask(store, cap=1000)
        assert newest.capped
        assert 0 < newest.total < 1500
        assert len(msgspec.json.encode(whole)) < 2_000_000


def test_only_what_goes_from_or_to_some_processes(tmp_path: Path) -> None:
    a, b, c = Recorder("a", "a"), Recorder("b", "b"), Recorder("c", "c")
    a.fact("net.part.sent", 100, {"msg": "1"})
    a.fact("net.part.sent", 100, {"msg": "2"})
    b.fact("net.part.received", 110, {"msg": "1"})
    c.fact("net.part.received", 110, {"msg": "2"})
    found = told(tmp_path, a, b, c, procs=["c"])
    assert [one.value for one in found.flows] == ["2"]


def test_aliases_name_a_peer(tmp_path: Path) -> None:
    sender, receiver = Recorder("s", "a"), Recorder("r", "b", aliases={"endpoint": "10.0.0.2:5000"})
    sender.fact("net.part.sent", 100, {"msg": "1"}, peer="10.0.0.2:5000")
    other = Recorder("o", "b", rank=1)
    other.fact("net.part.received", 105, {"msg": "2"})
    (flow,) = told(tmp_path, sender, alive(receiver), other).flows
    assert (flow.receiver, flow.verdict) == ("r", "missing")


def test_of_no_fact_there_is_no_flow(tmp_path: Path) -> None:
    body = encode(*Recorder("p", "a").lines)
    with stored(tmp_path, body) as store:
        found: Flows = ask(store)
        assert (found.total, found.kinds, found.flows) == (0, [], [])
