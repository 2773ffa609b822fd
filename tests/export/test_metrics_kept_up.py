"""The page is kept up with the store by reading only what is new, and says what a reading of everything would say."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exposed import Exposed, exposed
from harness import encode, process_line
from machine import Machine
from rl_insight import config
from rl_insight.export.prometheus import Exporter
from rl_insight.store.database import Snapshot

S = 1_000_000_000


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path / "data")
    yield made
    made.close()


class Producer:
    """Lines of one process, made up as they go; its clock is ours."""

    def __init__(self, proc: str, run: str = "run-1", **more: Any) -> None:
        self.proc, self.seq, self.now = proc, 0, time.time_ns() - 60 * S
        self.identity = {"run": run, "started": self.now, "heartbeat": 60.0, **more}

    def line(self, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        self.seq += 1
        self.now += 1000
        return {"kind": kind, "proc": self.proc, "seq": self.seq, "ts": self.now, "name": name, **fields}

    def hello(self, **more: Any) -> dict[str, Any]:
        self.seq += 1
        self.now += 1000
        return process_line(self.proc, self.seq, ts=self.now, **{**self.identity, **more})

    def some(self, count: int, chance: random.Random) -> list[dict[str, Any]]:
        return [self._one(chance) for _ in range(count)]

    def _one(self, chance: random.Random) -> dict[str, Any]:
        labels = {"stage": chance.choice("abc")} if chance.random() < 0.7 else None
        step = {"step": self.seq // 50}
        match chance.randrange(6):
            case 0:
                return self.line(
                    "count", chance.choice(["x", "y/z", "y.z"]), value=chance.expovariate(3), labels=labels, **step
                )
            case 1:
                return self.line("gauge", chance.choice(["x", "g"]), value=chance.random(), labels=labels)
            case 2:
                return self.line("sample", "s", value=chance.uniform(-5, 300), labels=labels)
            case 3:
                part = chance.choice(["state", "session", "phase", "task", None])
                dur = chance.randrange(10 * S)
                return self.line("span", chance.choice("pq"), dur=dur, part=part, trace=f"{self.seq:032x}", **step)
            case 4:
                verb = chance.choice(["put", "taken", "evicted"])
                return self.line("fact", f"queue.sample.{verb}", tags={"queue": chance.choice("jk")})
            case _:
                attrs = {"status": chance.choice(["accepted", "dropped"])}
                return self.line("fact", "session.sample.finished", tags={"session": str(self.seq)}, attrs=attrs)


def said(page: Exposed) -> dict[Any, float]:
    """What of a page does not move with the clock. A step, too, is looked at when it is over, not when more comes."""
    once = ("heartbeat_age_seconds", "step_duration_seconds", "wait_ratio")
    return {key: value for key, value in page.samples.items() if not key[0].endswith(once)}


def test_reading_what_is_new_comes_to_the_same_as_reading_everything(machine: Machine) -> None:
    chance = random.Random(7)
    kept_up = Exporter(machine.store)
    producers = [Producer(f"p{n}", f"run-{n % 2}", role="worker", rank=n) for n in range(4)]
    late = Producer("late", "run-0", role="late")
    late.seq += 1  # its process line comes last
    for turn in range(6):
        lines = [line for one in producers for line in [one.hello(), *one.some(40, chance)]]
        machine.take(encode(*lines))
        if turn in (2, 3):
            machine.take(encode(*late.some(20, chance)))
        if turn == 4:
            machine.take(encode(late.hello()))
        if turn == 5:
            machine.projector.delete_run("run-1")
            machine.take(encode(*[one.hello() for one in producers]))
        page = exposed(kept_up)
        assert said(page) == said(exposed(Exporter(machine.store))), turn
        named = {"rl_insight_monitor_x_total", "rl_insight_monitor_x_counter_total"}  # there is a gauge x, too
        counted = sum(value for (name, _), value in page.samples.items() if name in named)
        (stored,) = machine.ask(
            "SELECT sum(value) FROM point WHERE kind = 'count' AND name = 'x' AND run <> 'unknown'"
        )[0]
        assert counted == pytest.approx(stored)
    assert page.value("rl_insight_lines_total", run="run-0") == 2 * (6 * 41 + 1) + 41


def test_a_run_that_was_deleted_begins_anew_whoever_goes_on_with_it(machine: Machine) -> None:
    exporter = Exporter(machine.store)
    old, other = Producer("old", role="trainer", rank=0), Producer("other", role="trainer", rank=1)
    for one in (old, other):
        machine.take(encode(one.hello(), *[one.line("count", "n", value=1) for _ in range(10)]))
    assert sum(exposed(exporter).series("rl_insight_monitor_n_total").values()) == 20
    machine.projector.delete_run("run-1")
    new = Producer("new", role="trainer", rank=0)
    machine.take(encode(new.hello(), new.line("count", "n", value=1)))
    assert exposed(exporter).value("rl_insight_monitor_n_total") == 1
    # One that was there before writes more than it had before.
    machine.projector.delete_run("run-1")
    machine.take(encode(old.hello(), *[old.line("count", "n", value=1) for _ in range(50)]))
    assert exposed(exporter).value("rl_insight_monitor_n_total") == 50


def test_a_store_that_fails_in_the_middle_makes_nothing_count_twice(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = Exporter(machine.store)
    producer = Producer("p", role="trainer", rank=0)
    asked = Snapshot.rows
    for turn in range(12):
        machine.take(encode(producer.hello(), producer.line("count", "n", value=1)))
        left = [turn]

        def failing(self: Snapshot, *more: Any, left: list[int] = left) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise duckdb.IOException("a disk that is tired")
            return asked(self, *more)

        with monkeypatch.context() as patch, contextlib.suppress(duckdb.IOException):
            patch.setattr(Snapshot, "rows", failing)
            exporter.answer()
        assert exposed(exporter).value("rl_insight_monitor_n_total") == turn + 1


def test_a_restart_of_the_collector_changes_nothing(machine: Machine) -> None:
    producer = Producer("p", role="trainer", rank=0)
    machine.take(encode(producer.hello(), *producer.some(300, random.Random(3))))
    now = time.time_ns()
    before = said(exposed(Exporter(machine.store), now))
    machine.close()
    machine.open()
    assert said(exposed(Exporter(machine.store), now)) == before


def test_retention_does_not_make_a_counter_fall(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "data", segment_bytes=4096, retain_bytes=1)
    try:
        exporter = Exporter(machine.store)
        ended = Producer("ended", role="trainer", rank=0)
        machine.take(encode(ended.hello(), ended.line("count", "n", value=5), ended.hello(state="finished")))
        assert exposed(exporter).value("rl_insight_monitor_n_total") == 5
        producer = Producer("p", role="trainer", rank=0)
        producer.now = producer.identity["started"] = ended.now + 1000
        total = 5.0
        for _ in range(6):
            machine.take(encode(producer.hello(), *[producer.line("count", "n", value=1) for _ in range(100)]))
            machine.collector.log.rotate()
            machine.projector.tidy()
            total += 100
            assert exposed(exporter).value("rl_insight_monitor_n_total", rank="0") == total
        ((left,),) = machine.ask("SELECT sum(value) FROM point")
        assert left is None or left < total
    finally:
        machine.close()


def test_a_scrape_reads_what_is_new_and_nothing_else(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """By DuckDB's own account of the rows its scans give out."""
    scanned: dict[str, int] = {}
    asked = Snapshot.rows

    def spy(self: Snapshot, sql: str, params: Any = None, *more: Any) -> Any:
        plan = asked(self, f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params).rows[0][1]
        _scans(json.loads(plan)["operator"], scanned)
        return asked(self, sql, params, *more)

    exporter = Exporter(machine.store)
    producer = Producer("p", role="trainer", rank=0)
    for _ in range(3):
        lines = [producer.line("count", "n", value=1) for _ in range(10_000)]
        machine.take(encode(producer.hello(), *lines))
    exporter.answer()
    monkeypatch.setattr(Snapshot, "rows", spy)
    exporter.answer()
    assert sum(scanned.get(table, 0) for table in ("point", "span", "fact")) <= 3  # the anchors, one a table
    scanned.clear()
    machine.take(encode(*[producer.line("count", "n", value=1) for _ in range(10)]))
    assert "rl_insight_monitor_n_total" in exporter.answer().body.decode()
    assert 10 <= scanned["point"] <= 100, scanned
    # A process that is new is no reason to look at everything again.
    scanned.clear()
    other = Producer("q", role="trainer", rank=1)
    machine.take(encode(other.hello(), other.line("count", "n", value=1)))
    exporter.answer()
    assert scanned["point"] <= 20, scanned


def _scans(plan: list[Any], scanned: dict[str, int]) -> None:
    for one in plan:
        table = one["extra_info"].get("Table", "").rpartition(".")[2]
        if "SCAN" in one["type"] and table:
            scanned[table] = scanned.get(table, 0) + one["intermediate_rows"]
        _scans(one.get("children", []), scanned)


def test_rows_that_have_moved_are_neither_lost_nor_counted_twice(machine: Machine) -> None:
    """Whoever deletes rows may make others change places; the exporter must not rely on where they are."""
    exporter = Exporter(machine.store)
    old, new = Producer("old", "run-old"), Producer("new", "run-new")
    machine.take(encode(old.hello(), *[old.line("count", "n", value=1) for _ in range(1000)]))
    machine.take(encode(new.hello(), *[new.line("count", "n", value=1) for _ in range(10)]))
    assert exposed(exporter).value("rl_insight_monitor_n_total", run="run-new") == 10
    # Written anew without the rows of the other run, all of the rest lies elsewhere.
    cursor = machine.store.cursor()
    cursor.execute("CREATE OR REPLACE TABLE point AS FROM point WHERE run = 'run-new'")
    cursor.close()
    machine.take(encode(*[new.line("count", "n", value=1) for _ in range(5)]))
    assert exposed(exporter).value("rl_insight_monitor_n_total", run="run-new") == 15


def test_runs_that_ended_a_while_ago_are_not_shown_and_come_back_when_they_go_on(machine: Machine) -> None:
    exporter = Exporter(machine.store, config.Exposition(keep=100))
    producer = Producer("p", role="trainer")
    machine.take(encode(producer.hello(), producer.line("count", "n", value=3), producer.hello(state="finished")))
    now = time.time_ns()
    assert exposed(exporter, now).value("rl_insight_run_info", state="finished") == 1
    assert exposed(exporter, now).value("rl_insight_monitor_n_total") == 3
    later = now + 101 * S
    assert not [key for key in exposed(exporter, later).samples if "run" in dict(key[1])]
    again = Producer("q", role="trainer")
    again.now = again.identity["started"] = later
    machine.take(encode(again.hello(), again.line("count", "n", value=4)))
    page = exposed(exporter, later + S)
    assert page.value("rl_insight_run_info", state="live") == 1
    assert page.value("rl_insight_monitor_n_total") == 7
