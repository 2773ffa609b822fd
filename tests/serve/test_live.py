"""The live stream: says what has been stored, to everyone who listens, and ends with the server."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

from harness import Server, batch


def events(server: Server) -> Iterator[dict[str, Any]]:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
    connection.request("GET", "/api/v1/live")
    response = connection.getresponse()
    assert response.headers["content-type"].startswith("text/event-stream")
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def test_what_was_stored_is_told_to_everyone(server: Server) -> None:
    first, second = events(server), events(server)
    assert next(first)["runs"] == next(second)["runs"] == []
    server.post(batch("p", 1, 10))
    for stream in (first, second):
        told = next(one for one in stream if one["runs"])
        assert [(one["run"], one["lines"]) for one in told["runs"]] == [("run-1", 10)]


def test_only_runs_that_have_grown_are_told_again(server: Server) -> None:
    server.post(batch("p", 1, 10) + batch("q", 1, 5, run="run-2"))
    server.wait_stored()
    stream = events(server)
    assert {one["run"] for one in next(stream)["runs"]} == {"run-1", "run-2"}
    server.post(batch("p", 11, 10))
    told = next(one for one in stream if one["runs"])
    assert [(one["run"], one["lines"]) for one in told["runs"]] == [("run-1", 20)]


def test_a_listener_does_not_keep_the_server_from_stopping(server: Server) -> None:
    stream = events(server)
    next(stream)
    assert server.stop() == 0
    assert list(stream) == []
