"""`top`, `sessions`, `session`, `steps` and `hotspots` print tables people can read, and the API's JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import command, running_server
from small_run import small_run
from stored import stored


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without a server."""
    folder = tmp_path_factory.mktemp("commands")
    with stored(folder, *small_run()):
        pass
    return folder / "data"


def said(data_dir: Path, *arguments: str) -> str:
    done = command(*arguments, "--data-dir", str(data_dir))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_top_shows_what_is_stuck_first(data_dir: Path) -> None:
    shown = said(data_dir, "top", "--once")
    assert "run-1" in shown
    assert "lost: " in shown
    assert "rollout-1" in shown
    assert shown.index("c.0") < shown.index("c.1")
    assert "its process is gone" in shown
    assert "w1/0" in shown
    answer = json.loads(said(data_dir, "top", "--json"))
    assert answer["sessions"][0]["session"] == "c.0"


def test_sessions_are_filtered_and_sorted(data_dir: Path) -> None:
    shown = said(data_dir, "sessions", "--sort", "total", "--step", "1")
    assert [shown.index(name) for name in ("a.3", "a.2", "a.1", "a.0")] == sorted(
        shown.index(name) for name in ("a.3", "a.2", "a.1", "a.0")
    )
    assert "b.0" not in shown
    for options, expected in (
        (("--status", "rejected"), {"b.3"}),
        (("--error", "too long"), {"b.3"}),
        (("--stage", "generate"), {"c.1"}),
        (("--task", "a", "--q", "reward<0.5"), {"a.1", "a.2"}),
        (("--limit", "2", "--sort", "+total", "--task", "a"), {"a.0", "a.1"}),
    ):
        answer = json.loads(said(data_dir, "sessions", "--json", *options))
        assert {one["session"] for one in answer["sessions"]} == expected, options


def test_a_session_is_told_turn_by_turn(data_dir: Path) -> None:
    shown = said(data_dir, "session", "a.0")
    for text in ("accepted", "turn 1", "generate", "tool=search", "odd answer", "queue.sample.taken", "a.1 accepted"):
        assert text in shown
    assert shown.index("turn 1") < shown.index("  generate") < shown.index("tool=search")
    assert json.loads(said(data_dir, "session", "a.0", "--json"))["session"]["session"] == "a.0"


def test_steps_show_where_the_time_went(data_dir: Path) -> None:
    shown = said(data_dir, "steps")
    assert "wait_batch 100 ms" in shown
    assert "loss is nan" in shown
    assert "a.3 on rollout-0" in shown
    assert [step["step"] for step in json.loads(said(data_dir, "steps", "--json", "--last", "1"))["steps"]] == [2]


def test_hotspots_show_the_costliest_stage(data_dir: Path) -> None:
    shown = said(data_dir, "hotspots", "--all", "--part", "phase")
    assert shown.index("generate") < shown.index("tool")
    by_tool = json.loads(said(data_dir, "hotspots", "--all", "--name", "tool", "--by", "attr:tool", "--json"))
    assert [(one["by"], one["count"]) for one in by_tool["stages"]] == [("search", 4)]


def test_a_server_gives_the_same_answers(tmp_path: Path) -> None:
    with running_server(tmp_path / "data") as server:
        for body in small_run():
            assert server.post(body).status == 200
        server.wait_stored()
        beside = json.loads(said(tmp_path / "data", "sessions", "--json", "--sort", "tool"))
        done = command("sessions", "--json", "--sort", "tool", "--url", server.url)
        assert json.loads(done.stdout) == beside
        assert [one["session"] for one in beside["sessions"][:2]] == ["c.0", "a.3"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("sessions", "--q", "colour:red"), "nothing to search by"),
        (("sessions", "--run", "other"), "there is no run 'other'"),
        (("session", "nobody"), "nobody has recorded"),
        (("hotspots", "--by", "colour"), "attr:KEY"),
        (("steps", "--run", "other"), "there is no run"),
    ],
)
def test_what_cannot_be_answered_is_said_in_a_sentence(data_dir: Path, arguments: tuple[str, ...], text: str) -> None:
    done = command(*arguments, "--data-dir", str(data_dir))
    assert done.returncode in (1, 2)
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_store_is_no_error_of_ours(tmp_path: Path) -> None:
    with stored(tmp_path):
        pass
    done = command("top", "--once", "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 1
    assert "nothing is recorded here yet" in done.stderr
