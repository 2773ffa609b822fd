"""The live tail shows what is acknowledged, and never slows ingestion."""

import json
import socket
import time

from harness import Server, batch, wait_until


def test_lines_are_streamed_as_they_are_acknowledged(server: Server) -> None:
    connection = server.connect()
    connection.request("GET", "/api/v1/tail")
    stream = connection.getresponse()
    assert stream.status == 200
    assert stream.getheader("content-type", "").startswith("application/x-ndjson")
    server.post(batch("p", 1, 3))
    lines = [json.loads(stream.readline()) for _ in range(3)]
    assert [line["seq"] for line in lines] == [1, 2, 3]
    server.post(batch("p", 1, 4))
    assert json.loads(stream.readline())["seq"] == 4
    connection.close()


def test_a_reader_that_does_not_read_is_skipped_and_slows_nobody(server: Server) -> None:
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect((server.host, server.port))
    slow.sendall(b"GET /api/v1/tail HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert slow.recv(12) == b"HTTP/1.1 200"
    sent = 0
    for first in range(1, 200_001, 5000):
        assert server.post(batch("p", first, 5000)).status == 200
        sent += 5000
    stream = slow.makefile("rb")
    seen = skipped = 0
    deadline = time.monotonic() + 60
    slow.settimeout(30)
    while seen + skipped < sent and time.monotonic() < deadline:
        raw = stream.readline()
        if raw.startswith(b'{"skipped"'):
            skipped += json.loads(raw)["skipped"]
        elif raw.startswith(b"{"):
            seen += 1
    assert skipped > 0
    assert seen + skipped == sent
    slow.close()


def test_a_stopping_server_ends_the_stream(server: Server) -> None:
    connection = server.connect()
    connection.request("GET", "/api/v1/tail")
    stream = connection.getresponse()
    assert server.stop() == 0
    assert stream.read() == b""


def test_readers_that_go_away_are_forgotten(server: Server) -> None:
    for _ in range(20):
        connection = server.connect()
        connection.request("GET", "/api/v1/tail")
        connection.getresponse()
        connection.close()
    assert server.post(batch("p", 1, 100)).status == 200
    wait_until(lambda: server.request("GET", "/api/v1/status").body["tails"] == 0)
    assert "Traceback" not in server.output()
