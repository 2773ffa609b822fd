"""The log keeps every line it said it has, through rotation, compression, torn tails and full disks."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rl_insight.collect import START, DiskFull, LineLog, Position
from rl_insight.collect.bookmarks import Bookmark, Bookmarks
from rl_insight.schema import decode_lines

Gauges = Callable[..., bytes]


def read(log: LineLog, start: Position = START, limit: int = 1 << 20) -> bytes:
    return b"".join(chunk.data for chunk in log.chunks(start, limit))


def test_lines_come_back_in_order_over_segments_and_restarts(tmp_path: Path, gauges: Gauges) -> None:
    bodies = [gauges(3, first=1 + 3 * i) for i in range(40)]
    log = LineLog(tmp_path, segment_bytes=1000)
    for body in bodies[:20]:
        log.append(body)
    log.close()
    log = LineLog(tmp_path, segment_bytes=1000)
    for body in bodies[20:]:
        log.append(body)
    assert len(log.segments()) > 5
    assert read(log) == b"".join(bodies)
    assert all(path.stat().st_size <= 1000 for path in tmp_path.glob("*.jsonl"))


def test_a_body_larger_than_a_segment_stays_whole(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, segment_bytes=100)
    log.append(gauges(1))
    big = gauges(50, first=2)
    assert log.append(big) == Position(2, len(big))
    assert read(log) == gauges(1) + big


def test_chunks_are_bounded_whole_lines_that_follow_each_other(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, segment_bytes=2000)
    for i in range(20):
        log.append(gauges(7, first=1 + 7 * i))
    position = Position(1, 0)
    for chunk in log.chunks(START, 150):
        assert chunk.data.endswith(b"}\n")
        assert len(chunk.data) <= 150
        assert chunk.start in (position, Position(position.segment + 1, 0))
        assert chunk.end == Position(chunk.start.segment, chunk.start.offset + len(chunk.data))
        position = chunk.end
    assert position == log.end


def test_a_line_longer_than_a_chunk_comes_as_one(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path)
    log.append(gauges(1) + gauges(1, first=2, pad=400) + gauges(1, first=3))
    assert [chunk.data.count(b"\n") for chunk in log.chunks(START, 100)] == [1, 1, 1]
    assert read(log, limit=100) == read(log)


def test_reading_goes_on_from_any_position(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, segment_bytes=500)
    for i in range(30):
        log.append(gauges(1, first=1 + i))
    whole = read(log)
    log.compress(Position(5, 0))
    for chunk in log.chunks(START, 100):
        rest = read(log, chunk.end)
        assert whole.endswith(rest)
        assert len(rest) == log.remaining(chunk.end)


def test_a_torn_tail_is_cut_with_a_message(tmp_path: Path, gauges: Gauges, caplog: pytest.LogCaptureFixture) -> None:
    log = LineLog(tmp_path)
    end = log.append(gauges(3))
    log.close()
    for torn in (b'{"kind":"gau', b"\0" * 5000, b'{"kind":"gauge"}\n', b"\0\0\n" * 3, b"x" * 200_000):
        with (tmp_path / "000000000001.jsonl").open("ab") as stream:
            stream.write(torn)
        caplog.clear()
        log = LineLog(tmp_path)
        assert log.end == end
        assert f"{len(torn)} bytes of an unfinished line; cut" in caplog.text
        log.close()
    log = LineLog(tmp_path)
    log.append(gauges(1, first=4))
    assert read(log) == gauges(4)


def test_a_tail_without_a_single_line_is_cut_to_nothing(tmp_path: Path, gauges: Gauges) -> None:
    (tmp_path / "000000000001.jsonl").write_bytes(b'{"kind":"gauge","proc"')
    log = LineLog(tmp_path)
    assert log.end == Position(1, 0)
    log.append(gauges(1))
    assert read(log) == gauges(1)


def test_only_projected_and_sealed_segments_are_compressed_and_read_the_same(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, segment_bytes=500)
    for i in range(40):
        log.append(gauges(1, first=1 + i))
    whole = read(log)
    before = log.disk_bytes()
    assert log.compress(Position(3, 10)) == 2
    assert sorted(path.name for path in tmp_path.glob("*.zst")) == ["000000000001.jsonl.zst", "000000000002.jsonl.zst"]
    log.compress(log.end)
    assert (tmp_path / f"{log.end.segment:012d}.jsonl").exists()
    assert not list(tmp_path.glob("*.part"))
    assert log.disk_bytes() < before
    assert read(log) == whole
    assert log.remaining() == len(whole)
    log.close()
    log = LineLog(tmp_path, segment_bytes=500)
    assert read(log) == whole


def test_a_kill_in_the_middle_of_compression_loses_nothing(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, segment_bytes=500)
    for i in range(40):
        log.append(gauges(1, first=1 + i))
    whole = read(log)
    first = (tmp_path / "000000000001.jsonl").read_bytes()
    log.compress(Position(2, 0))
    log.close()
    (tmp_path / "000000000001.jsonl").write_bytes(first)  # killed before the original went
    (tmp_path / "000000000002.jsonl.zst.part").write_bytes(b"half")  # killed while the copy was written
    log = LineLog(tmp_path, segment_bytes=500)
    assert read(log) == whole
    assert not list(tmp_path.glob("*.part"))
    assert not (tmp_path / "000000000001.jsonl").exists()


def test_a_reader_is_not_disturbed_by_compression_and_retention(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, segment_bytes=500)
    for i in range(40):
        log.append(gauges(1, first=1 + i))
    whole = read(log)
    seen = b""
    for chunk in log.chunks(START, 100):
        log.compress(log.end)
        seen += chunk.data
    assert seen == whole


def test_retention_by_size_drops_the_oldest_projected_segments(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, segment_bytes=500, retain_bytes=1500)
    for i in range(60):
        log.append(gauges(1, first=1 + i))
    assert log.expired(START) == 0, "nothing is projected yet"
    assert log.expired(Position(3, 0)) == 2
    through = log.expired(log.end)
    assert log.drop(through) == list(range(1, through + 1))
    assert log.disk_bytes() <= 1500 + 500
    assert log.expired(log.end) == 0
    assert log.segments()[0] == through + 1
    assert read(log).endswith(gauges(1, first=60))


def test_retention_by_age_goes_by_when_the_lines_came(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, segment_bytes=500, retain_days=2)
    for i in range(30):
        log.append(gauges(1, first=1 + i))
    days = 86400
    for number, age in ((1, 5), (2, 3), (3, 1)):
        then = time.time() - age * days
        os.utime(tmp_path / f"{number:012d}.jsonl", (then, then))
    log.compress(log.end)
    assert log.expired(log.end) == 2


def test_the_active_segment_is_never_dropped(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, retain_bytes=1)
    log.append(gauges(10))
    assert log.expired(Position(9, 0)) == 0
    assert log.drop(9) == []
    assert read(log) == gauges(10)


def test_too_little_free_space_is_refused_before_anything_is_written(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, min_free_bytes=2**62)
    with pytest.raises(DiskFull, match="have to stay free"):
        log.append(gauges(1))
    assert log.end == Position(1, 0)
    assert read(log) == b""


def test_rewriting_replaces_sealed_segments_compressed_or_not(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, segment_bytes=500)
    for i in range(30):
        log.append(gauges(1, first=1 + i))
    whole = read(log)
    log.compress(Position(3, 0))
    log.rewrite(1, lambda data: b"")
    log.rewrite(2, lambda data: data)
    first = (tmp_path / "000000000003.jsonl").read_bytes()
    log.rewrite(3, lambda data: b"".join(data.splitlines(keepends=True)[1:]))
    assert (tmp_path / "000000000003.jsonl").read_bytes() == b"".join(first.splitlines(keepends=True)[1:])
    with pytest.raises(ValueError, match="still being written"):
        log.rewrite(log.end.segment, lambda data: b"")
    assert whole.endswith(read(log, Position(4, 0)))
    log.close()
    assert len(read(LineLog(tmp_path))) < len(whole)


def fill(log: LineLog, gauges: Gauges) -> tuple[bytes, int]:
    """Append until there is no room; returns what was taken and the next seq."""
    kept = b""
    for first in range(1, 10**6, 50):
        body = gauges(50, first=first)
        try:
            log.append(body)
        except DiskFull:
            return kept, first
        kept += body
    raise AssertionError("the disk does not fill up")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(
            f"A DISK CANNOT BE FILLED HERE: mounting a small one needs root ({mounted.stderr.decode().strip()})"
        )
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_full_disk_refuses_keeps_what_it_has_and_recovers(small_disk: Path, gauges: Gauges) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 100_000)
    log = LineLog(small_disk / "log", segment_bytes=50_000)
    kept, first = fill(log, gauges)
    assert kept
    assert read(log) == kept
    with pytest.raises(DiskFull, match="no room for more lines"):
        log.append(gauges(500, first=first))
    assert read(log) == kept
    ballast.unlink()
    log.append(gauges(50, first=first))
    assert read(log) == kept + gauges(50, first=first)
    log.close()
    again = LineLog(small_disk / "log")
    assert read(again) == kept + gauges(50, first=first)
    again.close()


def test_a_bookmark_moves_with_the_lines_around_it(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, fsync=False)
    log.append(gauges(10, proc="a"))
    log.append(gauges(10, proc="b"))
    middle = log.end
    log.append(gauges(10, proc="a", first=11) + gauges(5, proc="b", first=11))
    log.bookmarks.put("reader", *middle)
    log.bookmarks.put("at the end", *log.end)
    generation = log.bookmarks.generation
    log.rotate()
    log.rewrite(1, lambda data: b"".join(line + b"\n" for line in data.split(b"\n") if b'"proc":"b"' in line))
    again = LineLog(tmp_path, fsync=False).bookmarks
    left = [line.seq for chunk in log.chunks(Position(*_place(again, "reader"))) for line in decode_lines(chunk.data)]
    assert left == [11, 12, 13, 14, 15]
    assert not list(log.chunks(Position(*_place(again, "at the end"))))
    # Who has read before does not know where it is now.
    assert not log.bookmarks.put("reader", *middle, generation)
    assert log.bookmarks.put("reader", *log.end, log.bookmarks.generation)


def test_what_is_dropped_before_it_was_read_is_counted(tmp_path: Path, gauges: Gauges) -> None:
    log = LineLog(tmp_path, fsync=False)
    body = gauges(10)
    log.bookmarks.put("late", 1, len(body) // 10)
    log.bookmarks.put("in time", 3, 0)
    for _ in range(3):
        log.append(body)
        log.rotate()
    log.compress(log.end)
    log.drop(2)
    assert log.bookmarks.get("late") == Bookmark(3, 0, 2 * len(body) - len(body) // 10)
    assert log.bookmarks.get("in time") == Bookmark(3, 0, 0)


def _place(bookmarks: Bookmarks, name: str) -> tuple[int, int]:
    found = bookmarks.get(name)
    assert found is not None
    return found.segment, found.offset
