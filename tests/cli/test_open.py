"""`rl-insight open DIR` makes a store from files, without a collector, and follows them as they grow."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from harness import Server, batch, clean_environment, command, encode, gauge_line, wait_until


def test_a_folder_of_line_files_is_summarised(tmp_path: Path) -> None:
    (tmp_path / "files" / "node-a").mkdir(parents=True)
    (tmp_path / "files" / "node-a" / "lines-p.jsonl").write_bytes(batch("p", 1, 100, run="one"))
    (tmp_path / "files" / "lines-q.jsonl").write_bytes(batch("q", 1, 50, run="two") + b"nonsense\n" + b'{"cut')
    (tmp_path / "files" / "dataset.jsonl").write_text('{"prompt": "not ours"}\n')
    said = command("open", str(tmp_path / "files"), "--no-serve", HOME=str(tmp_path / "home"))
    assert said.returncode == 0, said.stderr
    assert "one" in said.stdout
    assert "two" in said.stdout
    assert "100" in said.stdout
    assert "1 line could not be read" in said.stderr


def test_the_same_read_api_is_served_while_files_grow(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "lines-p.jsonl").write_bytes(batch("p", 1, 100))
    data = tmp_path / "cache"
    opened = subprocess.Popen(
        [sys.executable, "-m", "rl_insight.cli", "open", str(files), "--data-dir", str(data), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    try:
        wait_until(lambda: (data / "server.json").exists() or opened.poll() is not None)
        assert opened.poll() is None, opened.communicate()
        server = Server(data)
        server.port = json.loads((data / "server.json").read_text())["port"]
        assert server.query("SELECT count(*) FROM point") == [[99]]
        with (files / "lines-p.jsonl").open("ab") as stream:
            stream.write(encode(gauge_line("p", 101)))
        (files / "lines-q.jsonl").write_bytes(batch("q", 1, 11))
        wait_until(lambda: server.query("SELECT count(*) FROM point") == [[110]])
        answer = server.post(batch("r", 1, 1))
        assert answer.status == 409
        assert "rl-insight server start" in answer.body["error"]
        assert server.request("DELETE", "/api/v1/runs/run-1").status == 409
        through = command("query", "SELECT count(*) AS n FROM point", "--format", "csv", "--data-dir", str(data))
        assert through.stdout.split() == ["n", "110"]
    finally:
        opened.send_signal(signal.SIGINT)
        _, errors = opened.communicate(timeout=60)
    assert opened.returncode == 0
    assert "Traceback" not in errors
    again = command("open", str(files), "--data-dir", str(data), "--no-serve")
    assert again.returncode == 0
    assert "111" in again.stdout or "112" in again.stdout


def test_a_collectors_log_can_be_opened_as_files(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    server.post(batch("p", 1, 100, run="from-log"))
    server.stop()
    said = command("open", str(tmp_path / "data" / "log"), "--no-serve", HOME=str(tmp_path / "home"))
    assert said.returncode == 0, said.stderr
    assert "from-log" in said.stdout


def test_nothing_to_open_is_explained(tmp_path: Path) -> None:
    missing = command("open", str(tmp_path / "none"))
    assert missing.returncode == 1
    assert "no folder" in missing.stderr
    empty = command("open", str(tmp_path), "--no-serve", HOME=str(tmp_path / "home"))
    assert empty.returncode == 1
    assert "lines-" in empty.stderr
