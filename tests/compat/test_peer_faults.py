"""What RL-Insight 0.3.0 did wrong, each fault reproduced on it once: here is the promise that takes its place.

Two workers of one run record everything that made it fail, and end without a word; the server is real. That a call to
Ray is made for a batch and not for each event is held by test_ray_users.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine import running_engine
from harness import Server, running_server, wait_until
from recorded import clean_environment, run_python

EVENTS = 20_000

WORKER = """
import threading, time, sys
import rl_insight as insight

insight.init(project="math", experiment_name="grpo", run="faults", role="worker", rank=int(sys.argv[1]),
             config={"prometheus": {"metrics_report_port": 9092}})
rank = int(sys.argv[1])

# The same metric with other labels, and of another type.
insight.metric_count("tokens", 1, worker="a")
insight.metric_count("tokens", 2, worker="a", phase="decode")
insight.metric_gauge("tokens", 3.0)
insight.metric_histogram("tokens", 4.0, worker="b")

# What is not a number must not spoil what comes after it.
insight.metric_count("seen", 1)
insight.metric_count("seen", float("nan"))
insight.metric_count("seen", 1)

# Labels that cannot be pickled, copied, or shown.
class Odd:
    def __reduce__(self): raise TypeError("no pickling")
    def __str__(self): raise ValueError("no text either")
insight.metric_gauge("odd", 1.0, lock=threading.Lock(), call=lambda: 0, odd=Odd())

# A span that begins before time does, among good ones.
now = time.time_ns()
for name, start in (("good", now), ("bad", -5), ("good", now)):
    insight.trace_span(name, start_time_ns=start, end_time_ns=now + 10, attributes={})

insight.metric_gauge("of_each_worker", float(rank))
insight.metric_gauge("loss", 0.5, step=7)
insight.set_step(8)
insight.metric_gauge("loss", 0.4)

with insight.trace_state("rollout", state_lane_id="engine"):
    print("open", flush=True)
    sys.stdin.readline()
for number in range(int(sys.argv[2])):
    insight.metric_count("event", 1)
# And away, without close().
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"prometheus": {"max_series": 20}, "scrape": {"interval": 0.2, "timeout": 0.5, "forget": 1.0}}
    with running_server(tmp_path_factory.mktemp("faults") / "data", settings=settings) as server:
        yield server


@pytest.fixture(scope="module")
def recorded(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the two workers did, and what was seen while they did it."""
    home = tmp_path_factory.mktemp("home")
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(EVENTS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(home, RL_INSIGHT_SERVER_URL=server.url),
        )
        for rank in (0, 1)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline().strip() == "open"
    opened = "SELECT count(*) FROM open_span WHERE run = 'faults' AND name = 'rollout' AND lane = 'engine'"
    wait_until(lambda: server.query(opened) == [[2]])
    said = [worker.communicate("\n", timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], said
    server.wait_stored()
    return {"errors": [errors for _, errors in said]}


def rows(server: Server, sql: str) -> list[list[Any]]:
    return server.query(sql)


@pytest.mark.usefixtures("recorded")
class TestWhatTwoWorkersRecorded:
    def test_a_metric_may_have_other_labels_or_another_type_and_nothing_of_it_is_dropped(self, server: Server) -> None:
        assert rows(
            server,
            "SELECT kind, value, labels, count(*) FROM point WHERE run = 'faults' AND name = 'tokens' "
            "GROUP BY ALL ORDER BY value",
        ) == [
            ["count", 1.0, '{"worker":"a"}', 2],
            ["count", 2.0, '{"worker":"a","phase":"decode"}', 2],
            ["gauge", 3.0, None, 2],
            ["sample", 4.0, '{"worker":"b"}', 2],
        ]

    def test_a_complaint_about_it_is_one_line_and_not_a_traceback(self, recorded: dict[str, Any]) -> None:
        for errors in recorded["errors"]:
            assert "Traceback" not in errors
            assert errors.count("type_conflict") == 1

    def test_nan_does_not_poison_a_counter(self, server: Server) -> None:
        assert rows(server, "SELECT sum(value) FROM point WHERE run = 'faults' AND name = 'seen'") == [[4.0]]
        assert rows(server, "SELECT count(*) FROM log WHERE run = 'faults' AND attrs ->> 'metric' = 'seen'") == [[2]]

    def test_a_label_that_cannot_be_pickled_raises_nothing_in_training_code(self, server: Server) -> None:
        assert rows(server, "SELECT count(*) FROM point WHERE run = 'faults' AND name = 'odd'") == [[2]]

    def test_a_span_with_a_negative_start_costs_no_other_span(self, server: Server) -> None:
        found = dict(rows(server, "SELECT name, count(*) FROM span WHERE run = 'faults' GROUP BY name"))
        assert found["good"] == 4
        assert rows(server, "SELECT count(*) FROM process WHERE (attrs ->> '$.problems.bad_time') = '1'") == [[2]]

    def test_nothing_is_lost_at_the_end_of_a_process_that_closes_nothing(self, server: Server) -> None:
        assert rows(server, "SELECT sum(value) FROM point WHERE run = 'faults' AND name = 'event'") == [[2 * EVENTS]]
        assert rows(server, "SELECT count(*) FROM hole") == [[0]]
        assert rows(server, "SELECT DISTINCT state FROM process WHERE run = 'faults'") == [["finished"]]

    def test_a_second_job_on_the_node_records_as_the_first_does(self, server: Server) -> None:
        # Both named the same metrics_report_port, on which the second one died.
        assert rows(server, "SELECT rank FROM process WHERE run = 'faults' ORDER BY rank") == [[0], [1]]

    def test_each_workers_gauge_is_kept_and_not_that_of_the_last_writer(self, server: Server) -> None:
        assert rows(
            server,
            "SELECT rank, value FROM point JOIN process USING (proc) "
            "WHERE point.run = 'faults' AND point.name = 'of_each_worker' ORDER BY rank",
        ) == [[0, 0.0], [1, 1.0]]

    def test_an_open_state_is_visible_while_it_lasts(self, server: Server) -> None:
        # Seen open by the fixture; now over.
        assert rows(server, "SELECT count(*) FROM open_span WHERE run = 'faults'") == [[0]]
        assert rows(server, "SELECT count(*) FROM span WHERE run = 'faults' AND name = 'rollout'") == [[2]]

    def test_metrics_have_a_step_axis(self, server: Server) -> None:
        (course,) = server.request("GET", "/api/v1/runs/faults/metrics/loss?by=step").body["series"]
        assert course["values"] == [0.5, 0.4]


@contextmanager
def waiting_worker(code: str, home: Path, server: Server) -> Iterator[Callable[[], str]]:
    """A process that says a word and waits for a line, again and again; calling it goes on to its next word."""
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(home, RL_INSIGHT_SERVER_URL=server.url),
    ) as worker:

        def go_on() -> str:
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
            return worker.stdout.readline().strip()

        yield go_on
        assert worker.wait(120) == 0


def test_a_killed_server_loses_nothing_and_one_that_is_down_at_the_start_is_waited_for(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    server.stop()
    code = """
    import rl_insight as insight
    input()
    insight.init(run="patient")  # while the server is down
    for word in ("started", "up", "killed", "up again"):
        with insight.trace_span("s"):
            insight.metric_count("n", 1)
        assert "up" not in word or insight.flush(180)
        print(word, flush=True)
        input()
    """
    with waiting_worker(code, tmp_path, server) as go_on:
        assert go_on() == "started"
        server.start()
        assert go_on() == "up"
        server.kill()
        assert go_on() == "killed"
        server.start()
        assert go_on() == "up again"
        go_on()
    server.wait_stored()
    assert server.query("SELECT sum(value) FROM point WHERE name = 'n'") == [[4.0]]
    assert server.query("SELECT count(*) FROM span WHERE name = 's'") == [[4]]
    server.kill()


def test_targets_can_be_removed_and_one_that_is_gone_is_forgotten_with_its_run(server: Server) -> None:
    path = "/api/v1/prometheus/targets"
    with running_engine() as engine:
        body = json.dumps({"targets": [engine.address], "run": "faults"}).encode()
        assert server.request("POST", path, body).status == 200
    wait_until(lambda: server.request("GET", path).body["targets"] == [])
    assert not list((server.data_dir / "targets").glob("*.json"))


def test_the_number_of_series_is_bounded_and_what_is_folded_is_counted(server: Server, tmp_path: Path) -> None:
    code = """
    import rl_insight as insight
    insight.init(run="wide", project="math", experiment_name="grpo")
    for number in range(500):
        insight.metric_gauge("of_each_request", 1.0, request=f"r{number}")
    assert insight.flush(180)
    """
    run_python(code, tmp_path, RL_INSIGHT_SERVER_URL=server.url)
    server.wait_stored()

    def exposed() -> list[str]:
        connection = server.connect()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return [line for line in text.splitlines() if line.startswith("rl_insight_monitor_of_each_request{")]

    wait_until(exposed)
    assert 0 < len(exposed()) <= 21
