"""The collector is away: memory, then disk, then counted losses; and everything kept is delivered in order."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import rl_insight as insight
from listener import Listener, Request, accept, hang, status
from recorded import named, of_kind, run_python, start_python, wait_until
from rl_insight.ship.lifecycle import shipment

Send = Callable[..., None]


def record(count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        insight.metric_gauge("x", number)


def gauges(listener: Listener) -> list[float]:
    return [line["value"] for line in named(listener.lines(), "x")]


def spooled(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.jsonl") if path.stem.isdigit()]


def test_a_cut_longer_than_the_memory_goes_to_disk_and_comes_back_in_order(
    listener: Listener, send_to: Send, tmp_path: Path
) -> None:
    send_to(memory_bytes=5_000, batch_lines=20, batch_bytes=4_000)
    record(10)
    assert insight.flush(20)
    listener.stop()
    for start in range(10, 1000, 90):
        record(90, start)
        time.sleep(0.03)
    wait_until(lambda: insight.status().spooled_bytes > 50_000, "the spool")
    assert spooled(tmp_path / "spool")
    listener.start()
    assert insight.flush(30)
    assert gauges(listener) == list(range(1000))
    lines = listener.lines()
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert of_kind(lines, "lost") == []
    assert insight.status().spooled_bytes == 0
    assert insight.status().lost == 0
    insight.close()
    assert not list((tmp_path / "spool").rglob("*.jsonl"))


def test_a_full_spool_drops_the_newest_and_counts_them(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    listener.behaviour = status(503)
    send_to(memory_bytes=2_000, spool_bytes=20_000, batch_lines=20, batch_bytes=4_000)
    total = 3000
    for start in range(0, total, 100):
        record(100, start)
        time.sleep(0.01)
    wait_until(lambda: insight.status().lost, "losses")
    wait_until(lambda: not len(_buffer()), "an empty buffer")
    running = shipment()
    assert running is not None
    assert running.outbox.bytes <= 2_000 + 20_000
    assert sum(path.stat().st_size for path in spooled(tmp_path / "spool")) <= 20_000
    listener.behaviour = accept
    assert insight.flush(30)
    record(1, total)
    insight.close(20)
    lost = of_kind(listener.lines(), "lost")
    received = gauges(listener)
    assert received[-1] == total
    assert received == sorted(received)
    assert len(received) + sum(line["count"] for line in lost) == total + 1
    assert insight.status().lost == sum(line["count"] for line in lost)
    assert received[: len(received) // 2] == list(range(len(received) // 2))


def _buffer() -> list[object]:
    from rl_insight.record.recorder import recorder

    return recorder.buffer


def test_a_process_that_ends_with_a_full_spool_still_tells_what_it_lost(
    listener: Listener, send_to: Send, tmp_path: Path
) -> None:
    listener.behaviour = status(503)
    send_to(memory_bytes=1_000, spool_bytes=5_000, batch_lines=10, batch_bytes=2_000)
    record(500)
    wait_until(lambda: insight.status().lost and not len(_buffer()), "losses")
    insight.close(timeout=0.2)
    lost = insight.status().lost
    listener.behaviour = accept
    send_to()
    wait_until(lambda: of_kind(listener.lines(), "lost"), "the loss told by the next process")
    assert len(gauges(listener)) + of_kind(listener.lines(), "lost")[0]["count"] == 500
    assert of_kind(listener.lines(), "lost")[0]["count"] == lost


def test_memory_and_disk_stay_within_their_limits_for_ever(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    listener.stop()
    send_to(memory_bytes=10_000, spool_bytes=30_000, batch_lines=10, batch_bytes=5_000, buffer_lines=500)
    running = shipment()
    assert running is not None
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.001):
            for _ in range(20):
                insight.log("info", "m", note="z" * 500)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    most = batch = 0
    try:
        for _ in range(60):
            time.sleep(0.02)
            most = max(most, running.outbox.bytes)
            batch = max(batch, running.packer.stuck_lines)
            assert len(_buffer()) <= 500 + len(threads)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert 20_000 < most <= 10_000 + 30_000
    assert batch <= 10 + 2
    assert sum(path.stat().st_size for path in spooled(tmp_path / "spool")) <= 30_000


def test_without_a_spool_only_memory_is_used(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    listener.behaviour = status(503)
    send_to(memory_bytes=5_000, spool_bytes=0, batch_lines=10)
    record(500)
    wait_until(lambda: insight.status().lost and not len(_buffer()), "losses")
    running = shipment()
    assert running is not None
    assert running.outbox.bytes <= 5_000
    assert not (tmp_path / "spool").exists()
    listener.behaviour = accept
    assert insight.flush(20)
    insight.close()
    lost = sum(line["count"] for line in of_kind(listener.lines(), "lost"))
    assert len(gauges(listener)) + lost == 500


def test_limits_smaller_than_a_batch_do_not_stop_delivery(listener: Listener, send_to: Send) -> None:
    send_to(memory_bytes=10, spool_bytes=10, batch_lines=5000)
    for start in range(0, 1000, 100):
        record(100, start)
        assert insight.flush(20)
    assert gauges(listener) == list(range(1000))
    assert insight.status().lost == 0


def test_a_spool_folder_that_cannot_be_written_is_told(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file is in the way")
    listener.behaviour = status(503)
    send_to(memory_bytes=3_000, batch_lines=10)
    record(300)
    wait_until(lambda: insight.status().lost and not len(_buffer()), "losses")
    assert "503" in insight.status().last_error
    listener.behaviour = accept
    assert insight.flush(20)
    insight.close()
    lost = of_kind(listener.lines(), "lost")
    assert len(gauges(listener)) + sum(line["count"] for line in lost) == 300
    assert str(tmp_path / "spool") in lost[0]["reason"]


def test_close_with_the_server_down_spools_within_its_deadline(
    listener: Listener, send_to: Send, tmp_path: Path
) -> None:
    listener.stop()
    send_to(close_timeout=0.5)
    record(100)
    began = time.monotonic()
    insight.close()
    assert time.monotonic() - began < 10
    assert insight.status().lost == 0
    assert sum(path.read_bytes().count(b'"x"') for path in spooled(tmp_path / "spool")) == 100


def test_close_with_a_hanging_server_spools_within_its_deadline(
    listener: Listener, send_to: Send, tmp_path: Path
) -> None:
    listener.behaviour = hang
    send_to(close_timeout=0.5, timeout=60.0)
    record(100)
    began = time.monotonic()
    insight.close()
    assert time.monotonic() - began < 10
    assert insight.status().lost == 0
    assert sum(path.read_bytes().count(b'"x"') for path in spooled(tmp_path / "spool")) == 100


def test_close_without_anywhere_to_put_lines_says_how_many_were_lost(
    listener: Listener, send_to: Send, caplog: pytest.LogCaptureFixture
) -> None:
    listener.stop()
    send_to(close_timeout=0.3, spool_bytes=0)
    record(10)
    insight.close()
    assert insight.status().lost == 12
    assert "12 lines could be neither sent nor kept" in caplog.text


def test_the_next_process_delivers_what_a_killed_one_left(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    listener.behaviour = status(503)
    code = """
import sys, time
import rl_insight as insight
ship = {"spool_dir": sys.argv[2], "flush_interval": 0.02}
insight.init(run="r0", config={"server": {"url": sys.argv[1]}, "ship": ship})
for number in range(500):
    insight.metric_gauge("x", number)
while insight.status().spooled_bytes < 40_000 or insight.status().buffered < 501:
    time.sleep(0.01)
print("spooled", flush=True)
time.sleep(60)
"""
    process = start_python(code, tmp_path, listener.url, str(tmp_path / "spool"))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "spooled\n"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert listener.lines() == []
    listener.behaviour = accept
    send_to()
    wait_until(lambda: len(gauges(listener)) == 500, "the killed process's lines")
    assert gauges(listener) == list(range(500))
    assert {line["run"] for line in of_kind(listener.lines(), "process")} == {"r0", "r1"}
    wait_until(lambda: not spooled(tmp_path / "spool"), "an empty spool")
    assert insight.status().lost == 0


def test_a_line_cut_by_the_kill_is_left_out(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    listener.stop()
    send_to(close_timeout=0.2)
    record(5)
    insight.close()
    left = spooled(tmp_path / "spool")[0]
    left.write_bytes(left.read_bytes() + b'{"kind":"gauge","proc":"')
    listener.start()
    send_to()
    wait_until(lambda: len(gauges(listener)) == 5, "the whole lines")
    wait_until(lambda: not spooled(tmp_path / "spool"), "an empty spool")


def test_a_large_orphan_is_delivered_while_the_process_keeps_recording(
    listener: Listener, send_to: Send, tmp_path: Path
) -> None:
    listener.stop()
    send_to(close_timeout=0.1, batch_lines=1000)
    record(20_000)
    insight.close()
    first = insight.status().proc
    listener.start()
    send_to(batch_bytes=20_000, flush_interval=0.005)
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.001):
            insight.metric_gauge("own", 1)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        wait_until(lambda: listener.marks.get(first, 0) >= 20_002, "the orphan's lines")
    finally:
        stop.set()
        thread.join()
    assert insight.flush(20)
    assert gauges(listener) == list(range(20_000))
    assert listener.duplicates == 0
    assert named(listener.lines(), "own")


def test_the_spool_of_a_living_process_is_left_alone(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    listener.behaviour = status(503)
    code = """
import sys, time
import rl_insight as insight
ship = {"spool_dir": sys.argv[2], "flush_interval": 0.02}
insight.init(run="r0", config={"server": {"url": sys.argv[1]}, "ship": ship})
insight.metric_gauge("x", 1)
while not insight.status().spooled_bytes:
    time.sleep(0.01)
print("spooled", flush=True)
sys.stdin.readline()
"""
    process = start_python(code, tmp_path, listener.url, str(tmp_path / "spool"))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "spooled\n"

        def only_mine(request: Request) -> None:
            accept(request) if b'"run":"r1"' in request.body or b'"mine"' in request.body else request.answer(503)

        listener.behaviour = only_mine
        send_to()
        insight.metric_gauge("mine", 1)
        assert insight.flush(20)
        assert spooled(tmp_path / "spool")
    finally:
        process.kill()
        process.communicate()


def test_lines_for_another_server_are_not_delivered_here(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    other = Listener()
    other.stop()
    insight.init(
        config={
            "server": {"url": other.url},
            "ship": {"spool_dir": str(tmp_path / "spool"), "close_timeout": 0.2},
            "resources": {"enabled": False},
        }
    )
    record(5)
    insight.close()
    send_to()
    assert insight.flush(20)
    insight.close()
    assert gauges(listener) == []
    assert spooled(tmp_path / "spool")


def test_a_spool_that_somebody_removed_is_told_as_lost(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    listener.behaviour = status(503)
    send_to()
    record(50)
    wait_until(lambda: insight.status().spooled_bytes and not len(_buffer()), "the spool")
    gone = insight.status().buffered
    for path in spooled(tmp_path / "spool"):
        path.unlink()
    listener.behaviour = accept
    assert insight.flush(20)
    record(3, 50)
    insight.close()
    assert gauges(listener) == [50, 51, 52]
    assert [line["count"] for line in of_kind(listener.lines(), "lost")] == [gone]


def test_a_fork_amid_an_outage_leaves_the_parents_spool_to_the_parent(
    listener: Listener, send_to: Send, tmp_path: Path
) -> None:
    listener.behaviour = status(503)
    send_to()
    record(50)
    wait_until(lambda: insight.status().spooled_bytes and not len(_buffer()), "the spool")
    pid = os.fork()
    if pid == 0:
        try:
            insight.metric_gauge("childs", 1)
            insight.close(0.2)
            os._exit(0)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    listener.behaviour = accept
    assert insight.flush(20)
    assert gauges(listener) == list(range(50))
    insight.close()
    send_to()
    wait_until(lambda: named(listener.lines(), "childs"), "the child's line")
    assert listener.duplicates == 0


def test_a_server_found_down_at_start_gets_everything_when_it_comes(tmp_path: Path, home: Path) -> None:
    listener = Listener()
    listener.stop()
    out = run_python(
        """
import sys
import rl_insight as insight
insight.init(config={"server": {"url": sys.argv[1]}, "ship": {"close_timeout": 0.2}})
for number in range(100):
    insight.metric_gauge("x", number)
insight.close()
print(insight.status().lost)
""",
        home,
        listener.url,
    )
    assert out.strip() == "0"
    listener.start()
    run_python(
        """
import sys, time
import rl_insight as insight
insight.init(config={"server": {"url": sys.argv[1]}})
deadline = time.monotonic() + 20
while insight.status().sent < 102 and time.monotonic() < deadline:
    time.sleep(0.01)
""",
        home,
        listener.url,
    )
    assert gauges(listener) == list(range(100))
    listener.stop()
