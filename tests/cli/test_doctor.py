"""`rl-insight doctor` names what is wrong, and what to do about it."""

import time
from pathlib import Path

from harness import Server, batch, command, encode, process_line, running_server


def ask(tmp_path: Path, *arguments: str, **environment: str):  # type: ignore[no-untyped-def]
    environment.setdefault("HOME", str(tmp_path / "home"))
    said = command("doctor", *arguments, **environment)
    assert "Traceback" not in said.stderr
    return said


def test_a_healthy_set_up_has_no_problems(server: Server, tmp_path: Path) -> None:
    now = time.time_ns()
    server.post(encode(process_line("p", ts=now, heartbeat=60.0)))
    server.wait_stored()
    said = ask(tmp_path, "--data-dir", str(server.data_dir))
    assert said.returncode == 0, said.stdout
    assert "no problems found" in said.stdout
    assert "1 live" in said.stdout


def test_no_server_at_all(tmp_path: Path) -> None:
    said = ask(tmp_path, "--data-dir", str(tmp_path / "none"))
    assert "rl-insight server start" in said.stdout
    assert "rl-insight open" in said.stdout


def test_an_unreachable_server(tmp_path: Path) -> None:
    said = ask(tmp_path, "--data-dir", str(tmp_path), RL_INSIGHT_SERVER_URL="http://127.0.0.1:1")
    assert said.returncode == 1
    assert "no server answers at http://127.0.0.1:1" in said.stdout
    assert "firewall" in said.stdout


def test_a_killed_server(server: Server, tmp_path: Path) -> None:
    server.kill()
    said = ask(tmp_path, "--data-dir", str(server.data_dir))
    assert said.returncode == 1
    assert "start it again" in said.stdout


def test_a_wrong_token(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", settings={"token": "the-right-one"}) as server:
        url = f"http://127.0.0.1:{server.port}"
        said = ask(tmp_path, "--url", url, "--data-dir", str(tmp_path), RL_INSIGHT_TOKEN="the-wrong-one")
        assert said.returncode == 1
        assert "does not accept our token" in said.stdout
        assert "RL_INSIGHT_TOKEN" in said.stdout
        said = ask(tmp_path, "--url", url, "--data-dir", str(tmp_path))
        assert "without a token" in said.stdout
        server.token = "the-right-one"
        server.post(batch("p", 1, 1))
        server.wait_stored()
        said = ask(tmp_path, "--url", url, "--data-dir", str(tmp_path), RL_INSIGHT_TOKEN="the-right-one")
        assert "answers" in said.stdout


def test_something_that_is_not_our_server(tmp_path: Path) -> None:
    import http.server
    import threading

    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *ignored: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        said = ask(tmp_path, "--url", f"http://127.0.0.1:{other.server_port}", "--data-dir", str(tmp_path))
        other.shutdown()
    assert said.returncode == 1
    assert "is that an RL-Insight server?" in said.stdout


def test_nothing_recorded(server: Server, tmp_path: Path) -> None:
    said = ask(tmp_path, "--data-dir", str(server.data_dir))
    assert said.returncode == 1
    assert "nothing is recorded" in said.stdout
    assert "rl_insight.init()" in said.stdout


def test_a_clock_that_is_off_and_recorders_that_went_silent(server: Server, tmp_path: Path) -> None:
    server.post(encode(process_line("p", host="node-7", clock_offset=-90_000_000_000)))
    server.wait_stored()
    said = ask(tmp_path, "--data-dir", str(server.data_dir))
    assert said.returncode == 1
    assert "the clock of node-7 is off by 1 min 30 s" in said.stdout
    assert "1 processes went silent" in said.stdout


def test_recorders_of_another_minor_version(server: Server, tmp_path: Path) -> None:
    server.post(encode(process_line("p", schema="1.9")))
    server.wait_stored()
    said = ask(tmp_path, "--data-dir", str(server.data_dir))
    assert "schema 1.9" in said.stdout
    assert "upgrade" in said.stdout


def test_lines_that_wait_in_the_spool(server: Server, tmp_path: Path) -> None:
    spool = tmp_path / "spool" / "node" / "abc"
    spool.mkdir(parents=True)
    (spool / "000001.jsonl").write_bytes(batch("p", 1, 100))
    said = ask(tmp_path, "--data-dir", str(server.data_dir), RL_INSIGHT_SPOOL_DIR=str(tmp_path / "spool"))
    assert "wait in" in said.stdout


def test_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(f"collector: {{min_free_bytes: {2**60}}}\n")
    said = ask(tmp_path, "--config", str(path), "--data-dir", str(tmp_path))
    assert said.returncode == 1
    assert "is full" in said.stdout


def test_wrong_settings(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("collector: {prot: 1}\n")
    said = ask(tmp_path, "--config", str(path))
    assert said.returncode == 1
    assert "collector.port" in said.stdout


def test_recording_switched_off(tmp_path: Path) -> None:
    said = ask(tmp_path, "--data-dir", str(tmp_path), RL_INSIGHT_DISABLED="1")
    assert said.returncode == 1
    assert "RL_INSIGHT_DISABLED" in said.stdout


def test_the_settings_in_force_and_their_origin_without_secrets(tmp_path: Path) -> None:
    said = ask(
        tmp_path, "--settings", "--data-dir", str(tmp_path), RL_INSIGHT_TOKEN="hush-hush", RL_INSIGHT_PROJECT="math"
    )
    assert "RL_INSIGHT_PROJECT" in said.stdout
    assert "hush-hush" not in said.stdout
