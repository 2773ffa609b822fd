"""Each command does its one thing, with a server and without, and says what to do when it cannot."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Server, batch, clean_environment, command, encode, gauge_line, process_line, running_server


def test_help_lists_every_command() -> None:
    said = command("--help")
    assert said.returncode == 0
    for name in ("server", "open", "query", "tail", "runs", "verify", "rebuild", "schema", "doctor"):
        assert name in said.stdout


COMMANDS = """
    server, server start, server stop, server status, open, query, tail, runs, runs list, runs delete, verify, rebuild,
    schema, doctor
"""


@pytest.mark.parametrize("words", [words.strip() for words in COMMANDS.split(",")])
def test_every_command_explains_itself(words: str) -> None:
    said = command(*words.split(), "--help")
    assert said.returncode == 0
    assert "Usage" in said.stdout
    if words not in ("schema", "server"):
        assert "--data-dir" in said.stdout


def test_the_command_line_starts_without_the_heavy_parts() -> None:
    code = "import sys, rl_insight.cli.app; print([m for m in ('duckdb', 'starlette', 'uvicorn') if m in sys.modules])"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=clean_environment(), check=True
    )
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["typer", "duckdb"])
def test_without_the_server_extra_the_command_says_what_to_install(missing: str, tmp_path: Path) -> None:
    arguments = ["rl-insight", "runs", "--data-dir", str(tmp_path)]
    code = f"import sys; sys.modules[{missing!r}] = None; sys.argv = {arguments}; import rl_insight.cli as c; c.main()"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=clean_environment(), check=False
    )
    assert said.returncode == 1
    assert 'pip install "rl-insight[server]"' in said.stderr
    assert "Traceback" not in said.stderr


def test_schema_prints_json_schema() -> None:
    schema = json.loads(command("schema").stdout)
    assert schema["$id"]
    assert schema["version"] == "1.0"
    assert "Span" in schema["$defs"]


# -- query


@pytest.mark.parametrize("running", [True, False], ids=["server", "no server"])
def test_query_answers_with_a_server_and_without(server: Server, running: bool) -> None:
    server.post(batch("p", 1, 4))
    server.wait_stored()
    if not running:
        server.stop()
    data = ["--data-dir", str(server.data_dir)]
    sql = "SELECT seq, value, NULL AS none, name FROM point ORDER BY seq"
    as_json = json.loads(command("query", sql, "--format", "json", *data).stdout)
    assert as_json[0] == {"seq": 2, "value": 2.0, "none": None, "name": "loss"}
    as_csv = list(csv.reader(io.StringIO(command("query", sql, "--format", "csv", *data).stdout)))
    assert as_csv == [
        ["seq", "value", "none", "name"],
        ["2", "2.0", "", "loss"],
        ["3", "3.0", "", "loss"],
        ["4", "4.0", "", "loss"],
    ]
    as_table = command("query", sql, *data)
    assert as_table.returncode == 0
    assert "loss" in as_table.stdout
    cut = command("query", sql, "--limit", "1", "--format", "csv", *data)
    assert len(cut.stdout.splitlines()) == 2
    assert "--limit" in cut.stderr
    for bad in ("DROP TABLE point", "SELEKT", "SELECT * FROM nowhere", "SELECT * FROM read_text('/etc/passwd')", ""):
        said = command("query", bad, *data)
        assert said.returncode == 1, bad
        assert said.stderr.startswith("error: ")
        assert "Traceback" not in said.stderr


def test_query_on_nothing_says_how_to_begin(tmp_path: Path) -> None:
    said = command("query", "SELECT 1", "--data-dir", str(tmp_path / "none"))
    assert said.returncode == 2
    assert "rl-insight server start" in said.stderr


def test_query_on_a_damaged_store_says_rebuild(tmp_path: Path) -> None:
    (tmp_path / "store.duckdb").write_bytes(b"not a database" * 1000)
    said = command("query", "SELECT 1", "--data-dir", str(tmp_path))
    assert said.returncode == 2
    assert "rl-insight rebuild" in said.stderr


# -- runs


@pytest.mark.parametrize("running", [True, False], ids=["server", "no server"])
def test_runs_are_listed_and_deleted(server: Server, running: bool) -> None:
    server.post(batch("p", 1, 10, run="[bold]first"))
    server.post(batch("q", 1, 20, run="second"))
    server.wait_stored()
    if not running:
        server.stop()
    data = ["--data-dir", str(server.data_dir)]
    listed = command("runs", *data)
    assert "[bold]first" in listed.stdout
    assert "second" in listed.stdout
    runs = {run["run"]: run for run in json.loads(command("runs", "list", "--json", *data).stdout)}
    assert runs["second"]["lines"] == 20
    refused = command("runs", "delete", "never", "--yes", *data)
    assert refused.returncode == 1
    assert "rl-insight runs" in refused.stderr
    deleted = command("runs", "delete", "[bold]first", "--yes", *data)
    assert deleted.returncode == 0, deleted.stderr
    assert "10 lines" in deleted.stderr
    assert [run["run"] for run in json.loads(command("runs", "list", "--json", *data).stdout)] == ["second"]
    if not running:
        assert command("rebuild", *data).returncode == 0
        assert [run["run"] for run in json.loads(command("runs", "list", "--json", *data).stdout)] == ["second"]


def test_deleting_asks_first(server: Server) -> None:
    server.post(batch("p", 1, 10))
    server.wait_stored()
    said = command("runs", "delete", "run-1", "--data-dir", str(server.data_dir))
    assert said.returncode != 0
    assert len(json.loads(command("runs", "list", "--json", "--data-dir", str(server.data_dir)).stdout)) == 1


# -- rebuild


def test_rebuild_makes_the_same_store_again(server: Server) -> None:
    server.post(batch("p", 1, 1000))
    server.wait_stored()
    data = ["--data-dir", str(server.data_dir)]
    refused = command("rebuild", *data)
    assert refused.returncode == 1
    assert "rl-insight server stop" in refused.stderr
    server.stop()
    (server.data_dir / "store.duckdb").unlink()
    rebuilt = command("rebuild", *data)
    assert rebuilt.returncode == 0, rebuilt.stderr
    counted = command("query", "SELECT count(*) AS n FROM point", "--format", "csv", *data)
    assert counted.stdout.split() == ["n", "999"]


def test_rebuild_without_a_log_is_explained(tmp_path: Path) -> None:
    said = command("rebuild", "--data-dir", str(tmp_path))
    assert said.returncode == 1
    assert "--data-dir" in said.stderr


# -- verify


@pytest.mark.parametrize("running", [True, False], ids=["server", "no server"])
def test_verify_tells_clean_from_not_by_its_exit_code(tmp_path: Path, running: bool) -> None:
    with running_server(tmp_path / "clean") as clean, running_server(tmp_path / "holed") as holed:
        clean.post(batch("p", 1, 10))
        holed.post(batch("p", 1, 10) + encode(gauge_line("p", 15)))
        holed.post(
            encode(
                process_line("q"),
                {"kind": "lost", "proc": "q", "seq": 2, "ts": 5, "name": "lines", "count": 7, "reason": "full"},
            )
        )
        for server in (clean, holed):
            server.wait_stored()
            if not running:
                server.stop()
        said = command("verify", "--data-dir", str(clean.data_dir))
        assert said.returncode == 0, said.stdout + said.stderr
        assert "clean" in said.stdout
        said = command("verify", "--data-dir", str(holed.data_dir))
        assert said.returncode == 1
        assert "seq 11 to 14" in said.stdout
        assert "4 lines never came" in said.stdout
        assert "7 were dropped" in said.stdout
        findings = json.loads(command("verify", "--json", "--data-dir", str(holed.data_dir)).stdout)
        assert findings["clean"] is False
        assert [(f["what"], f["proc"], f["lines"]) for f in findings["findings"]] == [
            ("hole", "p", 4),
            ("lost", "q", 7),
        ]


def test_verify_cannot_tell_where_there_is_nothing(tmp_path: Path) -> None:
    assert command("verify", "--data-dir", str(tmp_path / "none")).returncode == 2
    with running_server(tmp_path / "data") as server:
        assert command("verify", "--data-dir", str(server.data_dir)).returncode == 2
        server.post(batch("p", 1, 10))
        server.wait_stored()
        assert command("verify", "run-1", "--data-dir", str(server.data_dir)).returncode == 0
        assert command("verify", "other", "--data-dir", str(server.data_dir)).returncode == 2


def test_verify_counts_what_a_killed_server_had_not_projected(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", settings={"project_interval": 3600}) as server:
        server.post(batch("p", 1, 10))
        server.kill()
        said = command("verify", "--json", "--data-dir", str(server.data_dir))
        assert said.returncode == 0, said.stderr
        assert json.loads(said.stdout)["lines"] == 10
