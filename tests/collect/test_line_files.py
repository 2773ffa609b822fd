"""Line files are read from where one left off, up to the last whole line, without what is no line."""

import gzip
from collections.abc import Callable
from pathlib import Path

import zstandard

from rl_insight.collect import Bad, LineLog, line_files, read_lines

Gauges = Callable[..., bytes]


def test_files_of_the_sink_and_segments_of_a_log_are_found_and_nothing_else(tmp_path: Path, gauges: Gauges) -> None:
    (tmp_path / "node").mkdir()
    for name in ("lines-a.jsonl", "node/lines-b.jsonl", "train.jsonl", "lines-a.json", "node/notes.txt"):
        (tmp_path / name).write_bytes(gauges(1))
    (tmp_path / "node/lines-c.jsonl.gz").write_bytes(gzip.compress(gauges(1)))
    (tmp_path / "log").mkdir()
    log = LineLog(tmp_path / "log", segment_bytes=200)
    for i in range(6):
        log.append(gauges(1, first=1 + i))
    log.compress(log.end)
    log.close()
    found = [file.source for file in line_files(tmp_path)]
    assert found == [
        "lines-a.jsonl",
        *(f"log/{n:012d}.jsonl" for n in (1, 2, 3)),
        "node/lines-b.jsonl",
        "node/lines-c.jsonl",
    ]
    assert [file.source for file in line_files(tmp_path / "lines-a.jsonl")] == ["lines-a.jsonl"]


def test_compression_does_not_change_what_is_read(tmp_path: Path, gauges: Gauges) -> None:
    body = gauges(100)
    cut = len(gauges(40))
    (tmp_path / "lines-a.jsonl").write_bytes(body)
    (tmp_path / "lines-b.jsonl.zst").write_bytes(zstandard.compress(body[:cut]) + zstandard.compress(body[cut:]))
    (tmp_path / "lines-c.jsonl.gz").write_bytes(gzip.compress(body))
    for file in line_files(tmp_path):
        assert b"".join(data for data, _ in read_lines(file.path, limit=500)) == body
        assert b"".join(data for data, _ in read_lines(file.path, cut, limit=500)) == body[cut:]


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path, gauges: Gauges) -> None:
    path = tmp_path / "lines-a.jsonl"
    body = gauges(3)
    path.write_bytes(body[:-5])
    ((data, offset),) = read_lines(path)
    assert data == gauges(2)
    path.write_bytes(body)
    assert list(read_lines(path, offset)) == [(gauges(1, first=3), len(body))]
    assert list(read_lines(path, len(body))) == []


def test_what_is_no_line_is_left_out_and_told(tmp_path: Path, gauges: Gauges) -> None:
    path = tmp_path / "lines-a.jsonl"
    rubbish = [b"\n", b"rubbish\n", b'{"kind":"gauge","proc":"p","seq":"x"}\n', b"\xff\xfe\r\n"]
    parts = [gauges(1), rubbish[0], gauges(1, first=2), rubbish[1], rubbish[2], gauges(1, first=3), rubbish[3]]
    path.write_bytes(b"".join(parts))
    bad: list[Bad] = []
    ((data, offset),) = read_lines(path, on_bad=bad.append)
    assert data == gauges(3)
    assert offset == path.stat().st_size
    assert [one.line for one in bad] == rubbish[1:], "a blank line is no loss"
    for one in bad:
        assert path.read_bytes()[one.offset :].startswith(one.line)
        assert one.problem
