"""The read models say which runs there are, who has gone silent, and what is missing, from a real store."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import encode, gauge_line, process_line
from rl_insight import config
from rl_insight.read.health import health
from rl_insight.read.runs import Run, runs
from rl_insight.read.verify import verify
from rl_insight.serve.service import CollectorService

NOW = 1_800_000_000_000_000_000
SECOND = 1_000_000_000


class Recorded:
    """A collector's data folder without a server, to which lines can be given."""

    def __init__(self, service: CollectorService) -> None:
        self.service = service
        self.store = service.store

    def lines(self, *lines: dict[str, Any]) -> None:
        self.service.submit(encode(*lines)).result()
        self.service.projector.catch_up()

    def runs(self) -> dict[str, Run]:
        return {run.run: run for run in runs(self.store, NOW)}


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    service = CollectorService.open(tmp_path, config.Collector(fsync=False), follow=False)
    yield Recorded(service)
    service.close()


def test_an_empty_store_has_no_runs_and_nothing_to_verify(recorded: Recorded) -> None:
    assert recorded.runs() == {}
    verdict = verify(recorded.store)
    assert verdict.clean
    assert (verdict.processes, verdict.lines) == (0, 0)
    assert health(recorded.store, NOW).processes == 0


def test_a_run_is_live_while_one_of_its_processes_is_heard_from(recorded: Recorded) -> None:
    old, recent = NOW - 3600 * SECOND, NOW - 2 * SECOND
    recorded.lines(
        process_line("a", run="live", ts=old, project="math", experiment="grpo", heartbeat=5.0),
        process_line("b", run="live", ts=old, heartbeat=5.0),
    )
    recorded.lines(gauge_line("a", 2, ts=recent, step=7))
    run = recorded.runs()["live"]
    assert run.state == "live"
    assert (run.project, run.experiment, run.step) == ("math", "grpo", 7)
    assert (run.processes, run.live_processes, run.lost_processes, run.lines) == (2, 1, 1, 3)
    assert run.first_ts == old
    assert run.last_ts == recent + 2


def test_a_run_is_finished_when_all_processes_said_so_and_lost_when_one_did_not(recorded: Recorded) -> None:
    old = NOW - 3600 * SECOND
    recorded.lines(
        process_line("a", run="done", ts=old), process_line("a", seq=2, run="done", ts=old, state="finished")
    )
    recorded.lines(
        process_line("b", run="gone", ts=old), process_line("b", seq=2, run="gone", ts=old, state="finished")
    )
    recorded.lines(process_line("c", run="gone", ts=old))
    assert recorded.runs()["done"].state == "finished"
    assert recorded.runs()["gone"].state == "lost"
    assert recorded.runs()["gone"].lost_processes == 1


def test_a_slow_heartbeat_is_waited_for(recorded: Recorded) -> None:
    recorded.lines(process_line("a", run="slow", ts=NOW - 150 * SECOND, heartbeat=60.0))
    recorded.lines(process_line("b", run="fast", ts=NOW - 150 * SECOND, heartbeat=5.0))
    assert recorded.runs()["slow"].state == "live"
    assert recorded.runs()["fast"].state == "lost"


def test_a_clock_that_is_behind_does_not_make_a_process_lost(recorded: Recorded) -> None:
    recorded.lines(process_line("a", ts=NOW - 600 * SECOND, clock_offset=600 * SECOND, host="node-9"))
    assert recorded.runs()["run-1"].state == "live"
    found = health(recorded.store, NOW)
    assert found.live == 1
    assert found.clock_offset == 600 * SECOND
    assert found.clock_host == "node-9"


def test_lines_whose_process_line_never_came_are_found(recorded: Recorded) -> None:
    recorded.lines(gauge_line("orphan", 1))
    assert recorded.runs()["unknown"].lines == 1
    verdict = verify(recorded.store)
    assert [finding.what for finding in verdict.findings] == ["no process line"]
    recorded.lines(process_line("orphan", seq=2, run="mine"))
    assert verify(recorded.store).clean
    assert recorded.runs()["mine"].lines == 2


def test_holes_losses_and_duplicates_are_counted_by_run(recorded: Recorded) -> None:
    lost = {"kind": "lost", "proc": "b", "seq": 2, "ts": NOW, "name": "span", "count": 17, "reason": "spool full"}
    recorded.lines(process_line("a", run="x"), gauge_line("a", 5), gauge_line("a", 6), gauge_line("a", 8))
    recorded.lines(process_line("b", run="y"), lost)
    verdict = verify(recorded.store)
    assert not verdict.clean
    assert [(f.what, f.run, f.proc, f.lines) for f in verdict.findings] == [
        ("hole", "x", "a", 3),
        ("hole", "x", "a", 1),
        ("lost", "y", "b", 17),
    ]
    assert verdict.findings[0].detail == "seq 2 to 4 never came"
    assert verdict.summary == "4 lines never came, 17 were dropped by their recorder"
    assert (verdict.processes, verdict.runs, verdict.lines) == (2, 2, 6)
    assert [finding.what for finding in verify(recorded.store, "y").findings] == ["lost"]
    assert verify(recorded.store, "nothing").processes == 0


def test_a_line_stored_twice_would_be_found(recorded: Recorded) -> None:
    recorded.lines(process_line("a"), gauge_line("a", 2), gauge_line("a", 3))
    assert verify(recorded.store).clean
    cursor = recorded.store.cursor()
    cursor.execute("INSERT INTO point SELECT * FROM point WHERE seq = 3")
    cursor.close()
    (finding,) = verify(recorded.store).findings
    assert (finding.what, finding.proc, finding.lines) == ("duplicate", "a", 1)
    assert "the first is 3 in point" in finding.detail


def test_finished_and_silent_processes_and_their_schemas_are_told_apart(recorded: Recorded) -> None:
    now = time.time_ns()
    recorded.lines(process_line("a", ts=now, versions={"rl_insight": "0.4.0"}))
    recorded.lines(process_line("b", ts=1, schema="1.2", state="finished"))
    recorded.lines(process_line("c", ts=1))
    found = health(recorded.store)
    assert (found.processes, found.live, found.finished, found.lost) == (3, 1, 1, 1)
    assert found.schemas == ["1.0", "1.2"]
    assert "0.4.0" in found.versions
