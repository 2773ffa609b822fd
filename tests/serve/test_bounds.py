"""Memory and disk are bounded: what happens at each limit is an answer, never a crash."""

import gzip
import socket
import threading
from pathlib import Path

import psutil
import pytest
import zstandard

from harness import Server, batch, running_server

LIMIT = 1_000_000
PACKERS = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor(level=19).compress}


def test_a_body_over_the_limit_is_refused_with_the_limit(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", settings={"max_body_bytes": LIMIT}) as server:
        answer = server.post(batch("p", 1, 20_000))
        assert answer.status == 413
        assert answer.body["limit"] == LIMIT
        assert "smaller batches" in answer.body["error"]


def test_a_chunked_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", settings={"max_body_bytes": LIMIT}) as server:
        connection = server.connect()
        connection.request("POST", "/v1/lines", body=(b" " * 65536 for _ in range(100)))
        assert connection.getresponse().status == 413


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_without_being_unpacked(tmp_path: Path, encoding: str) -> None:
    with running_server(tmp_path / "data", settings={"max_body_bytes": LIMIT}) as server:
        bomb = PACKERS[encoding](bytes(400 * 2**20))
        assert len(bomb) < LIMIT
        server.post(batch("p", 1, 10))
        assert server.process is not None
        before = psutil.Process(server.process.pid).memory_info().rss
        for _ in range(3):
            answer = server.post(bomb, {"Content-Encoding": encoding})
            assert answer.status == 413
            assert answer.body["limit"] == LIMIT
        after = psutil.Process(server.process.pid).memory_info().rss
        assert after - before < 100 * 2**20
        assert server.request("GET", "/healthz").body == {"status": "ok"}


def test_under_pressure_producers_are_asked_to_wait_and_lose_nothing(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", settings={"max_pending_bytes": 100_000}) as server:
        refused = 0
        lock = threading.Lock()

        def produce(proc: str) -> None:
            nonlocal refused
            connection = server.connect()
            for first in range(1, 10_001, 1000):
                body = batch(proc, first, 1000)
                while (answer := server.post(body, connection=connection)).status != 200:
                    assert answer.status == 429
                    assert int(answer.headers["retry-after"]) >= 1
                    with lock:
                        refused += 1

        threads = [threading.Thread(target=produce, args=(f"p{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert refused > 0
        server.wait_stored()
        assert server.query("SELECT count(*) FROM point") == [[8 * 9999]]


def test_a_stalled_sender_holds_no_room_against_the_others(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", settings={"max_pending_bytes": 1_000_000}) as server:
        stalled = socket.create_connection((server.host, server.port))
        stalled.sendall(b"POST /v1/lines HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n" + b"x" * 1000)
        assert server.post(batch("p", 1, 1000)).status == 200
        stalled.close()
        assert server.post(batch("p", 1001, 1000)).status == 200


def test_a_full_disk_is_said_clearly_and_costs_nothing_acknowledged(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_server(data) as server:
        assert server.post(batch("p", 1, 10)).status == 200
        server.stop()
    with running_server(data, settings={"min_free_bytes": 2**62}) as server:
        answer = server.post(batch("p", 11, 10))
        assert answer.status == 507
        assert "free some space" in answer.body["error"]
        assert server.request("GET", "/api/v1/status").body["collector"]["state"] == "disk full"
        assert server.query("SELECT count(*) FROM point") == [[9]]
        server.stop()
    with running_server(data) as server:
        assert server.post(batch("p", 11, 10)).body["accepted"] == 10
        server.wait_stored()
        assert server.query("SELECT count(*), count(DISTINCT seq) FROM point") == [[19, 19]]


def test_a_huge_header_is_refused(server: Server) -> None:
    answer = server.request("GET", "/healthz", headers={"X-Long": "a" * 200_000})
    assert answer.status == 431
    assert "headers" in answer.body["error"]


def test_an_endless_header_is_not_kept(server: Server) -> None:
    with socket.create_connection((server.host, server.port)) as stream:
        stream.settimeout(30)
        stream.sendall(b"GET / HTTP/1.1\r\nX-Endless: ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            stream.sendall(b"a" * 64 * 2**20)
    assert server.alive()
