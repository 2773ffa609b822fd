"""The stack is started, watched and stopped. Programs that read the same configs stand in for Tempo and Grafana."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from harness import clean_environment, command, encode, process_line, wait_until
from rl_insight import config
from rl_insight.cli.stack import make_plan
from rl_insight.cli.trouble import Trouble
from rl_insight.serve import address
from rl_insight.stack import plan as plans
from rl_insight.stack import state
from rl_insight.stack.supervise import AlreadyRuns, Supervisor
from stack_services import read, settings


class Stack:
    """A data folder with a stack of stand-ins, supervised in a thread here or by commands as a user would."""

    def __init__(self, folder: Path, fakes: tuple[str, ...] = ("tempo", "grafana")) -> None:
        self.config = settings(folder, fakes)
        self.data = Path(read(self.config)["data_dir"])
        self.ended: bool | None = None

    def plan(self, *only: str) -> plans.Plan:
        made, _ = plans.make(self.data, config.load(self.config).collector, list(only))
        return made

    @contextmanager
    def running(self, *only: str) -> Iterator[Supervisor]:
        supervisor, settled = Supervisor(self.plan(*only)), threading.Event()

        def run() -> None:
            self.ended = supervisor.run(lambda _: settled.set())

        thread = threading.Thread(target=run)
        thread.start()
        try:
            assert settled.wait(60)
            yield supervisor
        finally:
            supervisor.stop()
            thread.join(60)

    def command(self, *words: str, group: str = "stack") -> subprocess.CompletedProcess[str]:
        more = ["--data-dir", str(self.data)] if words[0] == "stop" else ["--config", str(self.config)]
        return command(group, *words, *more)

    def service(self, name: str) -> state.Service:
        found = state.read(self.data)
        assert found is not None
        return next(one for one in found.services if one.name == name)

    def processes(self) -> list[psutil.Process]:
        """Everything that runs with a file of this data folder."""
        running = psutil.process_iter(["cmdline", "status"])
        found = [one for one in running if str(self.data) in " ".join(one.info["cmdline"] or [])]
        return [one for one in found if one.info["status"] != psutil.STATUS_ZOMBIE]

    def wait_gone(self) -> None:
        wait_until(lambda: not self.processes())


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    made = Stack(tmp_path)
    yield made
    for process in made.processes():
        process.kill()


def test_a_stack_is_ready_has_one_supervisor_and_ends_in_order(stack: Stack) -> None:
    with stack.running("tempo", "grafana") as supervisor:
        assert [stack.service(name).condition for name in ("tempo", "grafana")] == ["ready", "ready"]
        assert stack.service("tempo").url == f"http://127.0.0.1:{read(stack.config)['stack']['tempo_port']}"
        with pytest.raises(AlreadyRuns, match="already runs"):
            Supervisor(supervisor.plan).run(lambda _: None)
    assert stack.ended is True
    assert stack.processes() == []
    assert state.read(stack.data) is None
    for name in ("tempo", "grafana"):
        assert (stack.data / "stack" / name / "ended").read_text() == "by SIGTERM"


def test_what_is_killed_is_started_again_and_what_cannot_start_is_given_up(stack: Stack) -> None:
    (stack.data / "stack" / "grafana").mkdir(parents=True)
    (stack.data / "stack" / "grafana" / "die").touch()
    with stack.running("tempo", "grafana"):
        failed = stack.service("grafana")
        assert failed.condition == "failed"
        assert failed.restarts == 2
        assert failed.problem == "it ended (exit code 7): cannot: a file called die is here"
        assert stack.service("tempo").condition == "ready"  # the rest goes on
        before = stack.service("tempo").process
        assert before is not None
        os.kill(before.pid, signal.SIGKILL)
        wait_until(lambda: stack.service("tempo").restarts == 1 and stack.service("tempo").condition == "ready")
        after = stack.service("tempo").process
        assert after is not None
        assert after.pid != before.pid


def test_a_stack_of_which_everything_fails_ends(stack: Stack) -> None:
    (stack.data / "stack" / "tempo").mkdir(parents=True)
    (stack.data / "stack" / "tempo" / "die").touch()
    with stack.running("tempo"):
        wait_until(lambda: stack.ended is not None)
    assert stack.ended is False


def test_another_terminal_sees_it_and_stops_even_what_a_killed_supervisor_left(stack: Stack) -> None:
    started = stack.command("start", "--detach", "--only", "tempo")
    assert started.returncode == 0, started.stderr
    assert f"Tempo is at http://127.0.0.1:{read(stack.config)['stack']['tempo_port']}" in started.stderr
    status = stack.command("status", "--json")
    assert status.returncode == 0
    assert [one["condition"] for one in json.loads(status.stdout)["services"]] == ["ready"]
    found = state.read(stack.data)
    assert found is not None
    os.kill(found.supervisor.pid, signal.SIGKILL)
    wait_until(lambda: not found.supervisor.alive())
    status = stack.command("status")
    assert status.returncode == 3
    assert "left tempo running" in status.stderr
    assert "which a killed supervisor had left" in stack.command("stop").stderr
    stack.wait_gone()


def test_a_pid_that_is_somebody_elses_by_now_is_left_alone() -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        known = state.identify(other.pid, "time.sleep")
        assert known.alive()
        for stranger in (
            state.Process(known.pid, known.started - 3600, known.mark),
            state.Process(known.pid, known.started, "tempo.yaml"),
        ):
            assert not stranger.alive()
            assert stranger.stop(1.0)
        assert other.poll() is None
        assert known.stop(20.0)
    finally:
        other.kill()
        other.wait()


def test_ctrl_c_stops_everything_in_order(stack: Stack) -> None:
    run = [sys.executable, "-m", "rl_insight.cli", "stack", "start", "--only", "tempo", "--config", str(stack.config)]
    process = subprocess.Popen(run, stderr=subprocess.PIPE, text=True, env=clean_environment())
    assert process.stderr is not None
    assert "Tempo is at" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert "the stack is stopped" in process.communicate(timeout=60)[1]
    assert process.returncode == 0
    stack.wait_gone()


def test_a_taken_port_and_an_unknown_program_are_named(stack: Stack) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", read(stack.config)["stack"]["tempo_port"]))
        taken.listen()
        plan, missing = plans.make(stack.data, config.load(stack.config).collector, ["tempo", "grafana"])
        assert [one.name for one in plan.services] == ["grafana"]  # the rest goes on
        assert [one.name for one in missing] == ["tempo"]
        assert "where tempo should listen, is taken by another program" in missing[0].why
        assert "collector.stack.tempo_port" in missing[0].do
        moved, _ = plans.make(stack.data, config.load(stack.config).collector, ["tempo"], auto_port=True)
        assert moved.ports.tempo > taken.getsockname()[1]
    with pytest.raises(Trouble, match="no program 'loki'"):
        make_plan(stack.data, config.load(stack.config).collector, ["loki"], auto_port=False)


def test_nothing_installed_is_said_precisely(tmp_path: Path) -> None:
    done = command("stack", "start", "--config", str(settings(tmp_path, ())), PATH=str(tmp_path))
    assert done.returncode == 1
    for name in ("prometheus", "tempo", "grafana"):
        assert f"without {name}: {name} is neither in {tmp_path}/services nor on PATH" in done.stderr
    assert "nothing of the stack can be started" in done.stderr


def test_a_server_that_stops_at_once_leaves_no_stack_behind(stack: Stack) -> None:
    run = [sys.executable, "-m", "rl_insight.cli", "server", "start", "--stack", "--config", str(stack.config)]
    process = subprocess.Popen(run, stderr=subprocess.PIPE, text=True, env=clean_environment(PATH="/nowhere"))
    assert process.stderr is not None
    assert any("RL-Insight is at" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    stack.wait_gone()
    assert state.read(stack.data) is None


def test_one_command_starts_server_and_stack_and_one_stops_both(stack: Stack) -> None:
    port = read(stack.config)["port"]
    bare = {"PATH": "/nowhere"}  # a Prometheus of this machine is for other tests
    started = command("server", "start", "--stack", "--detach", "--config", str(stack.config), **bare)
    assert started.returncode == 0, started.stderr
    assert f"RL-Insight is at http://127.0.0.1:{port}" in started.stderr
    assert "Grafana is at" in started.stderr
    # Spans reach Tempo without any setting.
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    now = time.time_ns()
    span = {"kind": "span", "proc": "p", "seq": 2, "ts": now, "dur": 5, "name": "train", "id": "1", "part": "state"}
    connection.request("POST", "/v1/lines", encode(process_line("p", ts=now), {**span, "lane": "t"}))
    assert connection.getresponse().status == 200
    wait_until((stack.data / "stack" / "tempo" / "came").exists)
    assert (stack.data / "stack" / "tempo" / "came").read_text() == "/v1/traces"
    # A server that was killed leaves its stack, and the next one takes it over.
    server = address.read(stack.data)
    assert server is not None
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: not address.is_locked(stack.data))
    again = command("server", "start", "--stack", "--detach", "--config", str(stack.config), **bare)
    assert again.returncode == 0, again.stderr
    assert "Grafana is at" in again.stderr
    assert len([one for one in stack.processes() if "fake_program" in " ".join(one.cmdline())]) == 2
    stopped = command("server", "stop", "--data-dir", str(stack.data))
    assert stopped.returncode == 0, stopped.stderr
    stack.wait_gone()
    assert state.read(stack.data) is None
