"""Line files become the same store without a collector, and are followed as they grow."""

import time
from collections.abc import Callable
from pathlib import Path

from machine import Machine
from rl_insight.schema import Line, encode_lines
from rl_insight.store import FileProjector, Store

Mixed = Callable[..., list[Line]]


def test_files_make_the_same_rows_as_a_collector(tmp_path: Path, machine: Machine, mixed: Mixed) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    for proc in "abc":
        (folder / f"lines-{proc}.jsonl").write_bytes(encode_lines(mixed(100, proc, "r")))
        machine.take(mixed(100, proc, "r"))
    store = Store.open(tmp_path / "store")
    told: list[tuple[int, int]] = []
    files = FileProjector(store, folder)
    assert files.catch_up(lambda done, total: told.append((done, total))) == 300
    assert told[-1][0] == told[-1][1] == sum(path.stat().st_size for path in folder.iterdir())
    for table in ("point", "span", "fact", "fact_tag", "log", "lost", "open_span", "process"):
        columns = f"SELECT * EXCLUDE (segment) FROM {table} ORDER BY ALL"
        assert store.rows(columns).rows == machine.store.rows(columns).rows
    files.stop()
    store.close()


def test_growing_files_are_followed_over_restarts_and_nothing_comes_twice(tmp_path: Path, mixed: Mixed) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    whole = encode_lines(mixed(100))
    path = folder / "lines-p.jsonl"
    for cut in (5000, 9000, len(whole)):
        path.write_bytes(whole[:cut])
        store = Store.open(tmp_path / "store")
        files = FileProjector(store, folder)
        files.catch_up()
        assert files.catch_up() == 0
        assert store.rows("SELECT lines FROM mark").rows == [(whole[:cut].count(b"\n"),)]
        files.stop()
        store.close()
    (folder / "lines-copy.jsonl").write_bytes(whole)
    store = Store.open(tmp_path / "store")
    files = FileProjector(store, folder)
    assert files.catch_up() == 0
    assert files.duplicates == 100
    files.stop()
    store.close()


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path, mixed: Mixed) -> None:
    path = tmp_path / "lines-p.jsonl"
    path.write_bytes(encode_lines(mixed(100)))
    store = Store.open(tmp_path / "store")
    files = FileProjector(store, tmp_path)
    files.catch_up()
    path.write_bytes(encode_lines(mixed(10, "another")))
    assert files.catch_up() == 10
    files.stop()
    store.close()


def test_bad_lines_are_left_out_and_counted(tmp_path: Path, mixed: Mixed) -> None:
    (tmp_path / "lines-p.jsonl").write_bytes(b"rubbish\n" + encode_lines(mixed(10)) + b'{"kind":1}\n')
    store = Store.open(tmp_path / "store")
    files = FileProjector(store, tmp_path)
    assert files.catch_up() == 10
    assert files.bad_lines == 2
    assert [bad.line for bad in files.bad] == [b"rubbish\n", b'{"kind":1}\n']
    files.stop()
    store.close()


def test_new_lines_show_without_being_asked(tmp_path: Path, mixed: Mixed) -> None:
    store = Store.open(tmp_path / "store")
    files = FileProjector(store, tmp_path, interval=0.01)
    files.start()
    with (tmp_path / "lines-p.jsonl").open("ab", buffering=0) as stream:
        for i in range(5):
            stream.write(encode_lines(mixed(10, first=1 + 10 * i, process=i == 0)))
            deadline = time.monotonic() + 60
            while store.rows("SELECT lines FROM mark").rows != [(10 * (i + 1),)]:
                assert time.monotonic() < deadline
                time.sleep(0.01)
    files.stop()
    store.close()
