"""The store answers questions and nothing else, and a file that cannot be used is set aside."""

import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from machine import Machine
from rl_insight.schema import Line
from rl_insight.store import NotReadOnly, Store, StoreDamaged

Mixed = Callable[..., list[Line]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM point",
        "FROM point",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "EXPLAIN SELECT * FROM span",
        "SHOW TABLES",
        "DESCRIBE span",
        "SUMMARIZE point",
    ],
)
def test_looking_is_allowed(machine: Machine, mixed: Mixed, sql: str) -> None:
    machine.take(mixed(20))
    assert machine.store.rows(sql).columns


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM point",
        "SELECT 1; DROP TABLE point",
        "INSERT INTO meta VALUES ('a', 'b')",
        "EXPLAIN ANALYZE DELETE FROM point",
        "COPY point TO '{dir}/x.csv'",
        "ATTACH '{dir}/x.duckdb'",
        "SET threads = 8",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "CALL force_checkpoint()",
        "CHECKPOINT",
        "CREATE TEMP TABLE t (a INT)",
        "INSTALL httpfs",
        "LOAD json",
        "EXPORT DATABASE '{dir}/x'",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM read_json('http://localhost/x')",
        "",
    ],
)
def test_everything_else_is_refused(machine: Machine, mixed: Mixed, tmp_path: Path, sql: str) -> None:
    machine.take(mixed(20))
    before = machine.contents()
    with pytest.raises((NotReadOnly, duckdb.Error)):
        machine.store.rows(sql.format(dir=tmp_path))
    assert machine.contents() == before
    assert not list(tmp_path.glob("x*"))


def test_an_answer_has_a_limit_and_says_when_it_was_cut(machine: Machine, mixed: Mixed) -> None:
    machine.take(mixed(20))
    all_of_them = machine.store.rows("SELECT seq FROM point ORDER BY seq")
    assert (all_of_them.columns, all_of_them.types, all_of_them.truncated) == (["seq"], ["BIGINT"], False)
    cut = machine.store.rows("SELECT seq FROM point ORDER BY seq", limit=3)
    assert (cut.rows, cut.truncated) == (all_of_them.rows[:3], True)
    assert machine.store.rows("SELECT 1 AS a WHERE $x = 1", {"x": 1}, limit=1).dicts() == [{"a": 1}]


def test_times_come_back_as_text(machine: Machine, mixed: Mixed) -> None:
    machine.take(mixed(2))
    table = machine.store.rows(
        "-- when?\nSELECT seq, to_timestamp(ts / 1e3) AS moment, moment FROM point ORDER BY seq;\n", limit=5
    )
    assert table.columns == ["seq", "moment", "moment"]
    assert table.rows == [(2, "1970-01-01 00:00:01.002+00", "1970-01-01 00:00:01.002+00")]


def test_a_question_that_takes_too_long_is_given_up(machine: Machine) -> None:
    with pytest.raises(TimeoutError, match="longer than"):
        machine.store.rows("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", timeout=0.2)
    assert machine.ask("SELECT 1") == [(1,)]


def test_questions_are_answered_while_lines_are_projected(machine: Machine, mixed: Mixed) -> None:
    done = threading.Event()
    wrong: list[object] = []

    def ask() -> None:
        while not done.is_set():
            # One transaction: rows and marks always agree.
            sql = """SELECT (SELECT sum(lines) FROM mark) = (SELECT sum(n) FROM (
                SELECT count(*) AS n FROM point UNION ALL SELECT count(*) FROM log UNION ALL SELECT count(*) FROM fact
                UNION ALL SELECT count(*) FROM lost UNION ALL SELECT count(*) FROM span UNION ALL
                SELECT count(*) FROM open_span UNION ALL SELECT count(*) FROM process))"""
            if machine.ask(sql) not in ([(True,)], [(None,)]):
                wrong.append(machine.ask(sql))

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    for i in range(15):
        machine.take(mixed(200, first=1 + 200 * i, process=i == 0))
    done.set()
    for asker in askers:
        asker.join()
    assert wrong == []


@pytest.mark.parametrize("damage", ["rubbish", "cut", "middle", "version", "foreign", "wal"])
def test_a_file_that_cannot_be_used_is_set_aside_and_filled_anew(
    machine: Machine, mixed: Mixed, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    machine.take(mixed(300))
    before = machine.contents()
    machine.close()
    path = machine.store.path
    data = path.read_bytes()
    if damage == "rubbish":
        path.write_bytes(b"rubbish" * 1000)
    elif damage == "cut":
        path.write_bytes(data[:12288])
    elif damage == "middle":
        path.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))
    elif damage == "wal":
        path.with_name(path.name + ".wal").write_bytes(b"\xff" * 5000)
    else:
        path.unlink()
        other = duckdb.connect(str(path))
        if damage == "version":
            other.execute("CREATE TABLE meta AS SELECT 'version' AS key, '0' AS value")
        else:
            other.execute("CREATE TABLE somebody_elses AS SELECT 1 AS a")
        other.close()
    if damage != "wal":
        with pytest.raises(StoreDamaged):
            Store.open(machine.data_dir, read_only=True)
    machine.open()
    machine.projector.catch_up()
    assert machine.contents() == before
    if damage != "wal":
        assert "made anew from the log" in caplog.text
        assert (machine.data_dir / "store.duckdb.aside").exists()
    machine.take(mixed(310))
    assert machine.ask("SELECT lines FROM mark") == [(310,)]


def test_a_file_that_somebody_else_has_open_is_left_alone(machine: Machine, mixed: Mixed) -> None:
    machine.take(mixed(20))
    with pytest.raises(duckdb.Error):
        Store.open(machine.data_dir)
    assert machine.ask("SELECT lines FROM mark") == [(20,)]
    assert not (machine.data_dir / "store.duckdb.aside").exists()


def test_a_store_opened_for_reading_must_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no store"):
        Store.open(tmp_path, read_only=True)


def test_a_store_can_be_read_without_being_written(machine: Machine, mixed: Mixed) -> None:
    machine.take(mixed(20))
    machine.close()
    store = Store.open(machine.data_dir, read_only=True)
    assert store.rows("SELECT lines FROM mark").rows == [(20,)]
    store.close()
    machine.open()


def test_a_path_with_quotes_works(tmp_path: Path, mixed: Mixed) -> None:
    machine = Machine(tmp_path / "it's a 'dir'")
    machine.take(mixed(20))
    assert machine.ask("SELECT lines FROM mark") == [(20,)]
    machine.close()
