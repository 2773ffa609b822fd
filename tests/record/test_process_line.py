"""The process line: first, as a heartbeat, and last; and who it says we are."""

import platform
import socket
import time
from pathlib import Path

import pytest

import rl_insight as insight
from recorded import wait_until
from rl_insight.config import load
from rl_insight.record.identity import identify
from rl_insight.testing import recording


def test_the_process_line_is_first_and_says_who_records() -> None:
    before = time.time_ns()
    with recording(
        project="math", experiment="grpo", run="r1", role="actor", rank=3, node="n1", labels={"rack": "7"}
    ) as lines:
        insight.metric_gauge("x", 1)
        first = lines()[0]
    assert (first["kind"], first["seq"], first.get("state", "running")) == ("process", 1, "running")
    expected = {"run": "r1", "project": "math", "experiment": "grpo", "role": "actor", "rank": 3, "node": "n1"}
    assert {key: first[key] for key in expected} == expected
    assert first["labels"] == {"rack": "7"}
    assert first["host"] == socket.gethostname()
    assert before <= first["started"] <= first["ts"] <= time.time_ns()
    assert first["versions"]["python"] == platform.python_version()
    assert first["versions"]["rl_insight"] == insight.__version__
    assert first["schema"] == "1.0"


def test_the_last_line_says_that_the_process_finished() -> None:
    with recording() as lines:
        insight.metric_gauge("x", 1)
    assert lines()[-1]["kind"] == "process"
    assert lines()[-1]["state"] == "finished"


def test_a_heartbeat_tells_what_went_wrong_so_far() -> None:
    with recording(ship={"heartbeat": 0.05, "flush_interval": 0.01}) as lines:
        insight.metric_gauge("x", "no number")  # type: ignore[arg-type]
        wait_until(lambda: len(lines("process")) >= 3, "three heartbeats")
        beats = lines("process")
    assert {beat["heartbeat"] for beat in beats} == {0.05}
    assert beats[-1]["attrs"]["problems"] == {"not_a_number": 1}


def test_loaded_libraries_are_named_with_their_versions() -> None:
    numpy = pytest.importorskip("numpy")
    with recording() as lines:
        assert lines()[0]["versions"]["numpy"] == numpy.__version__


def test_the_config_hash_holds_no_token() -> None:
    hashes = {
        identify(load({"server": {"token": token}, "collector": {"token": token}}), 0).config_hash
        for token in ("", "one", "two")
    }
    assert len(hashes) == 1
    other = identify(load({"ship": {"batch_lines": 7}}), 0).config_hash
    assert other not in hashes


def test_the_rank_is_taken_from_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "11")
    with recording() as lines:
        assert lines()[0]["rank"] == 11
    for odd in ("²", "-1", "x", "9" * 30):
        monkeypatch.setenv("RANK", odd)
        with recording() as lines:
            assert "rank" not in lines()[0]


def test_whatever_init_is_given_the_process_line_is_legal(home: Path) -> None:
    from rl_insight.ship.lifecycle import shipment
    from rl_insight.testing import Lines

    settings = {"ship": {"sink": "memory"}, "resources": {"enabled": False}}
    insight.init(
        7,  # type: ignore[arg-type]
        ("a", 1),  # type: ignore[arg-type]
        settings,
        run="r" * 2000,
        role=b"x",  # type: ignore[arg-type]
        rank="3",  # type: ignore[arg-type]
        label={"a": 1},
        odd="\ud800",
    )
    running = shipment()
    assert running is not None
    lines = Lines(running.sink)  # type: ignore[arg-type]
    first = lines()[0]
    assert (first["project"], first["experiment"], first["rank"]) == ("7", "['a', 1]", 3)
    assert len(first["run"]) == 512
    assert first["labels"]["odd"] == "?"


def test_a_run_is_named_after_what_it_is() -> None:
    with recording(experiment="my exp/7") as lines:
        assert lines()[0]["run"].startswith("my-exp-7-")
