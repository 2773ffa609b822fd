"""A server owns its data folder, can be found, and leaves nothing behind when it stops."""

import http.client
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

from harness import Server, batch, command, running_server


def test_a_running_server_can_be_found_and_a_stopped_one_leaves_no_address(server: Server) -> None:
    found = json.loads((server.data_dir / "server.json").read_text())
    assert found["url"] == f"http://127.0.0.1:{server.port}"
    assert {"pid", "host", "port", "version", "started"} <= set(found)
    assert server.stop() == 0
    assert not (server.data_dir / "server.json").exists()


def test_ctrl_c_stops_it_cleanly(server: Server) -> None:
    server.post(batch("p", 1, 10))
    assert server.process is not None
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=60) == 0
    assert "Traceback" not in server.output()


def test_stopping_under_load_acknowledges_or_refuses_every_batch(server: Server) -> None:
    acknowledged = 0
    finished = threading.Event()

    def produce() -> None:
        nonlocal acknowledged
        connection = server.connect()
        for first in range(1, 10_000_000, 500):
            try:
                answer = server.post(batch("p", first, 500), connection=connection)
            except (OSError, ValueError, http.client.HTTPException):
                break
            if answer.status != 200:
                assert answer.status == 503
                break
            acknowledged = first + 499
        finished.set()

    threading.Thread(target=produce, daemon=True).start()
    time.sleep(1)
    assert server.stop() == 0
    assert finished.wait(30)
    server.start()
    server.wait_stored()
    ((count, top),) = server.query("SELECT count(*), max(seq) FROM point")
    assert count == top - 1
    assert top >= acknowledged


def test_a_second_server_on_the_same_folder_is_refused_and_told_who_owns_it(server: Server) -> None:
    second = command("server", "start", "--port", "0", "--data-dir", str(server.data_dir))
    assert second.returncode == 1
    assert server.url in second.stderr
    assert "rl-insight server stop" in second.stderr
    assert "Traceback" not in second.stderr
    assert server.request("GET", "/healthz").status == 200


def test_a_killed_server_leaves_a_stale_address_that_does_not_stop_the_next(server: Server) -> None:
    server.kill()
    assert (server.data_dir / "server.json").exists()
    stale = command("server", "status", "--data-dir", str(server.data_dir))
    assert stale.returncode == 3
    server.start()
    assert server.request("GET", "/healthz").status == 200


def test_a_taken_port_is_explained_and_auto_port_finds_another(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = command("server", "start", "--port", port, "--data-dir", str(tmp_path / "a"))
        assert refused.returncode == 1
        assert f"port {port}" in refused.stderr
        assert "--auto-port" in refused.stderr
        with running_server(tmp_path / "b", "--port", port, "--auto-port") as server:
            assert server.port != int(port)
            assert server.request("GET", "/healthz").status == 200


def test_detach_returns_when_healthy_and_stop_stops(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    started = command("server", "start", "--detach", "--port", "0", "--data-dir", data)
    assert started.returncode == 0, started.stderr
    found = json.loads((tmp_path / "data" / "server.json").read_text())
    try:
        assert found["url"] in started.stderr
        status = command("server", "status", "--data-dir", data)
        assert status.returncode == 0
        assert found["url"] in status.stdout
        assert json.loads(command("server", "status", "--json", "--data-dir", data).stdout)["clock"] > 0
        assert command("server", "stop", "--data-dir", data).returncode == 0
        assert command("server", "status", "--data-dir", data).returncode == 3
        assert command("server", "stop", "--data-dir", data).returncode == 0
        assert not Path(f"/proc/{found['pid']}").exists() or not _is_ours(found["pid"])
    finally:
        if _is_ours(found["pid"]):
            os.kill(found["pid"], signal.SIGKILL)


def _is_ours(pid: int) -> bool:
    try:
        return b"rl_insight.cli" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_a_failed_detached_start_says_why(server: Server) -> None:
    failed = command("server", "start", "--detach", "--port", "0", "--data-dir", str(server.data_dir))
    assert failed.returncode == 1
    assert "in use" in failed.stderr


def test_a_wrong_config_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("collector: {prot: 1}\n")
    failed = command("server", "start", "--config", str(path), "--data-dir", str(tmp_path / "data"))
    assert failed.returncode == 1
    assert "collector.port" in failed.stderr
    path.write_text("collector: [1\n")
    failed = command("server", "start", "--config", str(path), "--data-dir", str(tmp_path / "data"))
    assert failed.returncode == 1
    assert "YAML" in failed.stderr
    missing = command("server", "start", "--config", str(tmp_path / "none.yaml"), "--data-dir", str(tmp_path / "data"))
    assert missing.returncode == 1
    assert "no config file" in missing.stderr
