"""The routes of tasks and sessions answer as docs/api.md says, refuse in one sentence, and stay small."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import Server, running_server
from rl_insight.serve.rollouts import ROUTES
from small_run import small_run
from stored import Recorder

DOCS = (Path(__file__).parent.parent.parent / "docs" / "api.md").read_text()
BLOCK = re.compile(r"### `GET (/runs/\{run\}/[^`]+)`(.*?)(?=\n##|\Z)", re.DOTALL)
SHAPES = {
    path: json.loads(block[1])
    for path, text in BLOCK.findall(DOCS)
    if (block := re.search(r"```json\n(.*?)```", text, re.DOTALL))
}
MEGABYTE = 10**6


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("routes") / "data") as server:
        for body in small_run():
            assert server.post(body).status == 200
        server.wait_stored()
        yield server


def get(server: Server, path: str, run: str = "run-1") -> Any:
    answer = server.request("GET", f"/api/v1/runs/{run}/{path}")
    assert answer.status == 200, answer.body
    return answer.body


def same_shape(documented: Any, answered: Any, where: str) -> None:
    if isinstance(documented, dict) and isinstance(answered, dict) and "…" not in documented:
        # What holds whatever names users choose has no fixed keys.
        if where.rsplit(".", 1)[-1] in ("attrs", "tags"):
            return
        assert documented.keys() == answered.keys(), where
        for key, value in documented.items():
            same_shape(value, answered[key], f"{where}.{key}")
    elif isinstance(documented, list) and documented:
        assert isinstance(answered, list), where
        for one in answered:
            same_shape(documented[0], one, f"{where}[]")


@pytest.mark.parametrize(
    ("documented", "asked"),
    [
        ("/runs/{run}/sessions", "sessions"),
        ("/runs/{run}/sessions/{session}", "sessions/a.0"),
        ("/runs/{run}/tasks", "tasks"),
        ("/runs/{run}/steps", "steps"),
        ("/runs/{run}/flow", "flow"),
        ("/runs/{run}/hotspots", "hotspots"),
        ("/runs/{run}/live", "live"),
        ("/runs/{run}/overview", "overview"),
        ("/runs/{run}/flows", "flows"),
        ("/runs/{run}/timeline/statistics", "timeline/statistics"),
    ],
)
def test_an_answer_has_the_shape_that_is_documented(server: Server, documented: str, asked: str) -> None:
    same_shape(SHAPES[documented], get(server, asked), asked)


def test_every_route_is_documented() -> None:
    for route in ROUTES:
        path = route.path.removeprefix("/api/v1").replace(":path", "").replace(":int", "").replace(":run", "")
        assert f"`GET {path}`" in DOCS, path


def test_latest_is_the_run_heard_from_last(server: Server) -> None:
    assert get(server, "live", "latest")["run"] == "run-1"


def test_parameters_choose(server: Server) -> None:
    assert [one["session"] for one in get(server, "sessions?q=task:a+reward%3E0.5&sort=%2Btotal")["sessions"]] == [
        "a.0",
        "a.3",
    ]
    assert [one["session"] for one in get(server, "sessions?sort=+total&limit=1")["sessions"]] == ["a.0"]
    assert get(server, "sessions?limit=2&offset=10")["offset"] == 10
    assert [one["task"] for one in get(server, "tasks?zero_spread=1")["tasks"]] == ["b"]
    assert [one["step"] for one in get(server, "steps?from_step=2&to_step=5")["steps"]] == [2]
    batch = get(server, "steps/1")
    assert batch["step"]["step"] == 1
    assert [one["session"] for one in batch["sessions"]] == ["a.0", "a.1", "a.2", "a.3"]
    assert batch["sessions"][0]["intervals"][0][0] == "queue"
    stages = get(server, "hotspots?scope=all&name=tool&by=attr:tool&part=phase")["stages"]
    assert [(one["by"], one["count"]) for one in stages] == [("search", 4)]
    assert [one["session"] for one in get(server, "hotspots/examples?scope=all&name=tool&limit=1")["examples"]] == [
        "a.3"
    ]
    flame = get(server, "flame?scope=all")["root"]
    (task,) = [child for child in flame["children"] if child["name"] == "task"]
    assert [child["name"] for child in task["children"]] == ["session"]


@pytest.mark.parametrize(
    ("path", "status", "word"),
    [
        ("run-1/sessions?q=colour:red", 400, "nothing to search by"),
        ("run-1/sessions?sort=colour", 400, "sort"),
        ("run-1/sessions?step=one", 400, "number"),
        ("run-1/hotspots?by=colour", 400, "attr:KEY"),
        ("run-1/sessions/nobody", 404, "nobody"),
        ("no-run/sessions", 404, "no run"),
        ("no-run/overview", 404, "no run"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_sentence(server: Server, path: str, status: int, word: str) -> None:
    answer = server.request("GET", f"/api/v1/runs/{path}")
    assert answer.status == status
    assert word in answer.body["error"]


def test_answers_stay_below_two_megabytes_however_much_there_is(tmp_path: Path) -> None:
    worker = Recorder("w")
    long = "x" * 20_000
    for number in range(1500):
        who = {"session": f"session-{number:010}", "task": f"task-{number // 4:010}", "step": number // 10}
        worker.span("session", number, number + 50, part="session", attrs={"reward": 0.5, "prompt": "y" * 100}, **who)
    for number in range(2500):
        worker.span(f"tool {number % 700}", number, number + 1, part="phase", session="big", attrs={"result": long})
        worker.open(
            "session", number, part="session", session=f"open-{number}", task=f"open-{number}", lane=f"lane-{number}"
        )
        worker.open("task", number, part="task", task=f"open-{number}")
    worker.span("session", 0, 3000, part="session", session="big")
    with running_server(tmp_path / "data", settings={"max_body_bytes": 2**28}) as server:
        body = worker.body()
        assert server.post(body).status == 200
        server.wait_stored()
        for path in (
            "sessions?limit=100000",
            "sessions/big",
            "tasks?limit=100000",
            "steps?last=100000",
            "hotspots?scope=all&limit=100000",
            "hotspots/examples?scope=all&limit=100000",
            "flame?scope=all&nodes=100000",
            "flow?buckets=100000",
            "live?limit=100000",
            "overview",
        ):
            used = server.connect()
            used.request("GET", f"/api/v1/runs/run-1/{path}")
            response = used.getresponse()
            assert response.status == 200, path
            assert len(response.read()) < 2 * MEGABYTE, path
            used.close()
