"""Our export against a receiver we did not write: MLflow's, in an environment of its own.

`make test-peers` runs it. Installing MLflow takes minutes, so an ordinary test run says that it was left out.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import TS, running_server, wait_until
from odd_lines import odd_lines
from small_run import small_run

pytestmark = [
    pytest.mark.skipif(not os.environ.get("RL_INSIGHT_TEST_PEERS"), reason="needs MLflow installed: make test-peers"),
    pytest.mark.timeout(900),
]
HOME = Path(__file__).parent.parent.parent / ".bench-venvs" / "mlflow"
VERSION = "3.17.2"


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """MLflow's tracking server and its database."""
    program = HOME / "bin" / "mlflow"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
        subprocess.run([str(HOME / "bin" / "pip"), "install", "--quiet", f"mlflow=={VERSION}"], check=True)
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(program), "server", "--backend-store-uri", f"sqlite:///{folder}/m.db", "--workers", "1"]
    command += ["--default-artifact-root", str(folder / "artifacts"), "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        # Its workers are processes of their own: they go with their group.
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, start_new_session=True)
    try:
        wait_until(lambda: _answers(port) or server.poll() is not None, 300)
        assert server.poll() is None, (folder / "log").read_text()
        yield f"http://127.0.0.1:{port}", folder / "m.db"
    finally:
        os.killpg(server.pid, 15)
        server.wait(60)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        time.sleep(0.2)
        return False
    finally:
        connection.close()


def test_mlflow_has_every_span_with_its_ids_times_and_attributes(mlflow: tuple[str, Path], tmp_path: Path) -> None:
    url, database = mlflow
    wanted = {"endpoint": url, "signals": ["traces"], "headers": {"x-mlflow-experiment-id": "0"}, "timeout": 120}
    with running_server(tmp_path / "data", settings={"otlp_export": [wanted]}) as server:
        for body in (*small_run(), odd_lines()):
            assert server.post(body).status == 200
        wait_until(lambda: not server.request("GET", "/api/v1/status").body["exporters"][0]["lag_bytes"], 300)
        status = server.request("GET", "/api/v1/status").body["exporters"][0]
        server.wait_stored()
        ours = server.query("SELECT name, ts, ts + dur, session FROM span ORDER BY ALL")
    assert (status["dropped"], status["retries"], status["last_error"]) == (0, 0, None)
    assert status["sent"] == len(ours) > 30
    with sqlite3.connect(database) as tables:
        columns = "trace_id, span_id, parent_span_id, name, status, start_time_unix_nano, end_time_unix_nano, content"
        rows = tables.execute(f"SELECT {columns} FROM spans").fetchall()
    spans = {row[3]: (*row[:7], json.loads(row[7])["attributes"]) for row in rows}
    theirs = sorted((row[3], row[5], row[6]) for row in rows)
    assert theirs == sorted((name, start, end) for name, start, end, _ in ours)
    known = spans["ids of ours"]
    assert known[:3] == ("tr-4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "a" * 16)
    assert known[5] == TS + 1_000_000
    assert (spans["cancelled"][4], spans["of no length"][4], spans["no ids"][4]) == ("ERROR", "OK", "UNSET")
    attributes = spans["state"][7]
    assert (attributes["rl.lane"], attributes["rl.part"]) == ('"l-1"', '"state"')
    # What it understands of GenAI conventions it has from us: conversations, and what was generated.
    with sqlite3.connect(database) as tables:
        traces = dict(tables.execute("SELECT session_id, output_tokens FROM trace_info WHERE session_id IS NOT NULL"))
    assert traces.keys() >= {"a.0", "b.0", "b.3", "s"}
    assert traces["a.0"] == 4 * 10
