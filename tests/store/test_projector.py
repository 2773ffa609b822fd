"""The projector keeps the store up with the log, through errors, and the log small."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from machine import Machine
from rl_insight.schema import Gauge, Line, Process, encode_lines
from rl_insight.store import Projection, Store, rebuild
from rl_insight.store.delete import finish_deletion

Mixed = Callable[..., list[Line]]


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_accepted_lines_become_rows_without_being_asked(machine: Machine, mixed: Mixed) -> None:
    machine.projector.start()
    for i in range(10):
        machine.collector.submit(encode_lines(mixed(20, first=1 + 20 * i, process=i == 0))).result(60)
    wait_until(lambda: machine.projector.status().state == "ok" and machine.projector.status().lines == 200)
    assert machine.ask("SELECT lines FROM mark") == [(200,)]
    status = machine.projector.status()
    assert (status.lag_bytes, status.lag_seconds, status.last_error) == (0, 0.0, None)
    assert (status.segment, status.offset) == machine.collector.log.end


def test_stopping_projects_what_is_left(machine: Machine, mixed: Mixed) -> None:
    machine.projector.start()
    machine.collector.submit(encode_lines(mixed(20))).result(60)
    machine.projector.stop()
    assert machine.ask("SELECT lines FROM mark") == [(20,)]


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), duckdb.IOException("disk"), duckdb.FatalException("invalidated")]
)
def test_an_error_is_shown_and_tried_again_until_it_is_gone(
    machine: Machine, mixed: Mixed, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    machine.projector.start()
    with monkeypatch.context() as patch:

        def fail(*arguments: object) -> None:
            raise error

        patch.setattr(Projection, "_insert", fail)
        machine.collector.submit(encode_lines(mixed(20))).result(60)
        wait_until(lambda: machine.projector.status().state == "failing")
        assert str(error) in (machine.projector.status().last_error or "")
        assert machine.projector.status().lag_bytes > 0
    wait_until(lambda: machine.projector.status().state == "ok")
    assert machine.ask("SELECT lines FROM mark") == [(20,)]
    assert machine.projector.status().last_error is None


def test_a_store_that_stays_broken_is_made_anew(
    machine: Machine, mixed: Mixed, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.take(mixed(40))
    real = Projection._insert

    def broken_in_the_old_file(self: Projection, *arguments: object) -> int:
        if not (machine.data_dir / "store.duckdb.aside").exists():
            raise duckdb.InternalException("a block is damaged")
        return real(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Projection, "_insert", broken_in_the_old_file)
    machine.projector.start()
    machine.collector.submit(encode_lines(mixed(20, first=41, process=False))).result(60)
    wait_until(lambda: machine.projector.status().state == "ok")
    assert machine.ask("SELECT lines FROM mark") == [(60,)]
    assert machine.ask("SELECT count(*) FROM process") == [(1,)]


def test_projected_segments_are_compressed_and_old_ones_dropped_with_their_rows(tmp_path: Path, mixed: Mixed) -> None:
    machine = Machine(tmp_path / "data", segment_bytes=4000, retain_bytes=6000)
    for i in range(40):
        body = [*mixed(20, first=1 + 21 * i), Process(proc="p", seq=21 * i + 21, ts=1, name="p", run="r", schema="1.0")]
        machine.collector.submit(encode_lines(body)).result(60)
    machine.projector.tidy()
    assert machine.collector.log.segments()[0] == 1, "not before it is projected"
    machine.projector.catch_up()
    rows = machine.ask("SELECT count(*) FROM point")
    machine.projector.tidy()
    log = machine.collector.log
    kept = log.segments()
    assert kept[0] > 1
    assert log.disk_bytes() < 6000 + 4000
    assert (0,) < machine.ask("SELECT count(*) FROM point")[0] < rows[0]
    assert machine.ask("SELECT min(segment) FROM point") == [(kept[0],)]
    machine.take(mixed(5, first=1))  # a very late retry of lines that are gone
    assert machine.ask("SELECT count(*) FROM point WHERE seq < 5") == [(0,)]
    before = {table: rows for table, rows in machine.contents().items() if table != "mark"}
    machine.close()
    rebuild(machine.data_dir, settings=machine.settings)
    machine.open()
    assert {table: rows for table, rows in machine.contents().items() if table != "mark"} == before
    machine.take(mixed(5, first=1))
    assert machine.ask("SELECT count(*) FROM point WHERE seq < 5") == [(0,)]
    machine.close()


def test_a_deleted_run_is_gone_from_store_and_log_and_does_not_come_back(tmp_path: Path, mixed: Mixed) -> None:
    machine = Machine(tmp_path / "data", segment_bytes=3000)
    for i in range(10):
        first = 1 + 24 * i
        machine.take(
            mixed(24, "a", "going", first=first, process=i == 0)
            + mixed(24, "b", "staying", first=first, process=i == 0)
        )
    machine.projector.tidy()
    staying = {table: [row for row in rows if "staying" in row] for table, rows in machine.contents().items()}
    gone = machine.projector.delete_run("going")
    assert (gone.run, gone.lines) == ("going", 240)

    def check() -> None:
        contents = machine.contents()
        for table, rows in staying.items():
            assert [row for row in contents[table] if "staying" in row] == rows
            assert [row for row in contents[table] if "going" in row] == []
        assert machine.ask("SELECT count(*) FROM point WHERE proc = 'a'") == [(0,)]

    check()
    assert not any(b'"proc":"a"' in chunk.data for chunk in machine.collector.log.chunks())
    late = encode_lines(mixed(24, "a", "going", first=217, process=False))
    assert machine.collector.submit(late).result(60).duplicates == 24
    machine.close()
    machine.open()
    check()
    assert machine.collector.submit(late).result(60).duplicates == 24, "known after a restart"
    machine.close()
    rebuild(machine.data_dir, settings=machine.settings)
    machine.open()
    check()
    assert machine.collector.submit(late).result(60).duplicates == 24, "known after a rebuild"
    assert machine.ask("SELECT * FROM hole") == []
    assert machine.projector.delete_run("no such run").lines == 0
    machine.close()


def test_a_process_that_outlives_the_deletion_of_its_run_goes_on(machine: Machine, mixed: Mixed) -> None:
    machine.take(mixed(40))
    machine.projector.delete_run("r")
    machine.take([Gauge(proc="p", seq=41, ts=41, name="n", value=1.0)])
    assert machine.ask("SELECT run, seq FROM point") == [("unknown", 41)]
    machine.take([Process(proc="p", seq=42, ts=42, name="process", run="r", schema="1.0")])
    assert machine.ask("SELECT run, seq FROM point") == [("r", 41)]
    assert machine.ask("SELECT * FROM hole") == []


def test_lines_of_no_known_run_can_be_deleted(machine: Machine, mixed: Mixed) -> None:
    machine.take(mixed(40, "a", process=False) + mixed(40, "b", "r"))
    assert machine.projector.delete_run("unknown").lines == 40
    assert machine.ask("SELECT DISTINCT proc FROM point") == [("b",)]


def test_a_deletion_that_was_killed_is_finished_at_the_next_start(
    tmp_path: Path, mixed: Mixed, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "data", segment_bytes=2000)
    for i in range(10):
        machine.take(mixed(24, "a", "going", first=1 + 24 * i, process=i == 0))
    calls = 0
    real = os.fsync

    def killed(file: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 9:
            raise KeyboardInterrupt
        real(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", killed)
        with pytest.raises(KeyboardInterrupt):
            machine.projector.delete_run("going")
    assert any(b'"proc":"a"' in chunk.data for chunk in machine.collector.log.chunks()), "killed in the middle"
    machine.close()
    machine.open()
    assert not any(b'"proc":"a"' in chunk.data for chunk in machine.collector.log.chunks())
    assert machine.ask("SELECT count(*) FROM point") == [(0,)]
    finish_deletion(machine.store, machine.collector.log)
    machine.close()


def test_a_rebuild_makes_the_same_store_and_tells_how_far_it_is(tmp_path: Path, mixed: Mixed) -> None:
    machine = Machine(tmp_path / "data", segment_bytes=20_000)
    machine.take(mixed(60, "late", process=False))
    for i in range(20):
        machine.take(mixed(48, "a", "one", first=1 + 50 * i) + mixed(48, "b", "two", first=1 + 48 * i, process=i == 0))
        machine.projector.tidy()
    machine.take(mixed(10, "late", "three", first=61))
    before = machine.contents()
    assert len(before["hole"]) == 19
    machine.close()
    told: list[tuple[int, int]] = []
    made = rebuild(machine.data_dir, lambda done, total: told.append((done, total)), machine.settings)
    assert (made.lines, made.unreadable) == (60 + 20 * 96 + 10, 0)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1] > 0
    machine.open()
    assert machine.contents() == before
    assert sorted(path.name for path in machine.data_dir.iterdir()) == ["log", "store.duckdb", "tmp"]
    machine.close()


def test_a_rebuild_that_fails_leaves_the_store_as_it_was(
    machine: Machine, mixed: Mixed, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.take(mixed(40))
    before = machine.contents()
    machine.close()
    with monkeypatch.context() as patch:

        def fail(*arguments: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(Projection, "_insert", fail)
        with pytest.raises(OSError, match="No space"):
            rebuild(machine.data_dir)
    machine.open()
    assert machine.contents() == before


def test_a_small_store_memory_is_enough_for_a_large_chunk(tmp_path: Path, mixed: Mixed) -> None:
    machine = Machine(tmp_path / "data", store_memory="200MB")
    for i in range(5):
        machine.collector.submit(encode_lines(mixed(20_000, first=1 + 20_000 * i, process=i == 0))).result(60)
    machine.projector.catch_up()
    assert machine.ask("SELECT lines FROM mark") == [(100_000,)]
    machine.close()


def test_the_store_is_not_needed_to_open_the_log_again(tmp_path: Path, mixed: Mixed) -> None:
    machine = Machine(tmp_path / "data")
    machine.take(mixed(40))
    machine.close()
    machine.store.path.unlink()
    machine.open()
    assert machine.collector.submit(encode_lines(mixed(40))).result(60).duplicates == 40
    machine.projector.catch_up()
    assert machine.ask("SELECT lines FROM mark") == [(40,)]
    assert isinstance(machine.store, Store)
    machine.close()
