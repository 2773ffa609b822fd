"""What a route asked the store can be asked again by anyone, with the same answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from harness import Server, running_server
from small_run import small_run


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("asked") / "data") as server:
        for body in small_run():
            assert server.post(body).status == 200
        server.wait_stored()
        yield server


@pytest.mark.parametrize(
    "route", ["sessions", "tasks?zero_spread=1", "hotspots?scope=all&by=worker", "flow", "overview"]
)
def test_every_question_behind_a_route_can_be_asked_again(server: Server, route: str) -> None:
    told = server.request("GET", f"/api/v1/runs/run-1/{route}{'&' if '?' in route else '?'}sql=1")
    assert told.status == 200, told.body
    assert told.body["asked"]
    for question in told.body["asked"]:
        answer = server.request("POST", "/api/v1/query", json.dumps(question).encode())
        assert answer.status == 200, answer.body


def test_the_sql_behind_the_sessions_finds_the_same_sessions(server: Server) -> None:
    shown = server.request("GET", "/api/v1/runs/run-1/sessions?sort=%2Bstart").body["sessions"]
    told = server.request("GET", "/api/v1/runs/run-1/sessions?sort=%2Bstart&sql=1").body["asked"]
    (question,) = [one for one in told if "Where did the time of each session go" in one["sql"]]
    answer = server.request("POST", "/api/v1/query", json.dumps(question).encode()).body
    at = answer["columns"].index("session")
    assert [row[at] for row in answer["rows"]] == [one["session"] for one in shown]
