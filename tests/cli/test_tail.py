"""`rl-insight tail` shows lines as they arrive, from a server or from files."""

import json
import subprocess
import sys
import time
from pathlib import Path

from harness import Server, batch, clean_environment, command, encode, gauge_line, process_line


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rl_insight.cli", "tail", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )


def lines_of(tail: subprocess.Popen[str]) -> list[dict[str, object]]:
    output, errors = tail.communicate(timeout=60)
    assert tail.returncode == 0, errors
    return [json.loads(raw) for raw in output.splitlines()]


def test_lines_from_a_server_are_filtered(server: Server) -> None:
    server.post(batch("old", 1, 2, run="early"))
    server.wait_stored()
    tail = start(
        "--kind",
        "gauge",
        "--name",
        "lo*",
        "--run",
        "early",
        "--run",
        "late",
        "-n",
        "3",
        "--data-dir",
        str(server.data_dir),
    )
    seq = 3
    while tail.poll() is None:
        server.post(encode(gauge_line("old", seq), gauge_line("old", seq + 1, name="other")))
        server.post(batch("other-run", 1, 5, run="never"))
        server.post(batch("new", 1, 2, run="late"))
        seq += 2
        time.sleep(0.05)
    found = lines_of(tail)
    assert len(found) == 3
    assert {line["name"] for line in found} == {"loss"}
    assert {line["proc"] for line in found} <= {"old", "new"}


def test_lines_from_growing_files_are_shown(tmp_path: Path) -> None:
    old = tmp_path / "lines-old.jsonl"
    old.write_bytes(encode(process_line("old", run="a"), gauge_line("old", 2)))
    tail = start(str(tmp_path), "--run", "a", "--kind", "gauge", "-n", "2")
    seq = 3
    while tail.poll() is None:
        with old.open("ab") as stream:
            stream.write(encode(gauge_line("old", seq))[:10])
            stream.flush()
            time.sleep(0.03)
            stream.write(encode(gauge_line("old", seq))[10:])
        (tmp_path / "lines-new.jsonl").write_bytes(encode(process_line("new", run="b"), gauge_line("new", 2)))
        seq += 1
    found = lines_of(tail)
    assert [line["proc"] for line in found] == ["old", "old"]
    assert all(line["seq"] > 2 for line in found)  # type: ignore[operator]


def test_text_is_for_people(server: Server) -> None:
    tail = start("--format", "text", "-n", "1", "--kind", "process", "--data-dir", str(server.data_dir))
    number = 0
    while tail.poll() is None:
        number += 1
        server.post(batch(f"p{number}", 1, 1))
        time.sleep(0.05)
    output, _ = tail.communicate()
    assert "run=run-1" in output


def test_wrong_arguments_are_explained(tmp_path: Path) -> None:
    said = command("tail", "--kind", "spam", "--data-dir", str(tmp_path))
    assert said.returncode == 1
    assert "gauge" in said.stderr
    said = command("tail", str(tmp_path / "none"))
    assert said.returncode == 1
    assert "no folder" in said.stderr
    said = command("tail", "--data-dir", str(tmp_path / "none"))
    assert said.returncode == 1
    assert "rl-insight server start" in said.stderr


def test_the_end_of_the_server_ends_the_tail(server: Server) -> None:
    tail = start("--data-dir", str(server.data_dir))
    while not server.request("GET", "/api/v1/status").body["tails"]:
        time.sleep(0.05)
    server.stop()
    _, errors = tail.communicate(timeout=60)
    assert tail.returncode == 0
    assert "ended the stream" in errors
