"""A run's id is one part of a path, whatever it holds; and clocks are put right where that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from harness import TS, Server, running_server
from rl_insight.serve.rollouts import ROUTES as ROLLOUTS
from rl_insight.serve.views import ROUTES as VIEWS
from stored import MS, Recorder

RUNS = ["team/a", "team/sessions/b", "a%2Fb", "latest/x", "ä / ?#&+", "plain"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("ids") / "data") as server:
        for number, run in enumerate(RUNS):
            recorder = Recorder(f"p{number}", "worker", run=run, clock_offset=5000 * MS)
            recorder.span("session", 100, 200, part="session", session=f"s/{number}", task="t", lane="l")
            recorder.gauge("engine/metrics/x", 300, float(number))
            assert server.post(recorder.body()).status == 200
        server.wait_stored()
        yield server


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_found_by_its_id_whatever_it_holds(server: Server, run: str) -> None:
    number = RUNS.index(run)
    below = f"/api/v1/runs/{quote(run, safe='')}"
    assert server.request("GET", f"{below}/overview").body["run"] == run
    assert [one["proc"] for one in server.request("GET", f"{below}/timeline/lanes").body["lanes"]] == [f"p{number}"]
    story = server.request("GET", f"{below}/sessions/{quote(f's/{number}', safe='')}").body
    assert story["session"]["session"] == f"s/{number}"
    course = server.request("GET", f"{below}/metrics/{quote('engine/metrics/x', safe='')}?by=time").body
    assert course["series"][0]["values"] == [float(number)]


def test_every_route_of_a_run_takes_such_an_id() -> None:
    of_runs = [route.path for route in (*ROLLOUTS, *VIEWS) if "/runs/{" in route.path]
    assert of_runs
    assert all(path.startswith("/api/v1/runs/{run:run}/") for path in of_runs)


def test_clocks_are_put_right_where_that_is_asked_for(server: Server) -> None:
    def first(more: str) -> float:
        lanes = server.request("GET", f"/api/v1/runs/plain/timeline/lanes{more}").body["lanes"]
        return float(lanes[0]["first"])

    assert first("") == first("?clocks=recorded") == pytest.approx(TS / 1e6 + 100)
    assert first("?clocks=corrected") == pytest.approx(TS / 1e6 + 5100)
    refusal = server.request("GET", "/api/v1/runs/plain/flows?clocks=mended")
    assert refusal.status == 400
    assert "'recorded' or 'corrected'" in refusal.body["error"]


def test_statistics_of_names_or_of_lanes(server: Server) -> None:
    refusal = server.request("GET", "/api/v1/runs/plain/timeline/statistics?of=all")
    assert refusal.status == 400
    names = server.request("GET", "/api/v1/runs/plain/timeline/statistics?of=names").body
    assert ([one["name"] for one in names["names"]], names["lanes"]) == (["session"], [])
