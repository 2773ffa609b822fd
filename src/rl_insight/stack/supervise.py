"""Starts the programs of a stack, starts again what ends, and stops all of them. One supervisor a data folder."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from rl_insight.serve import address
from rl_insight.stack import configs, state
from rl_insight.stack import plan as plans
from rl_insight.stack.plan import Plan
from rl_insight.stack.programs import Program

TICK_SECONDS = 0.2
REFRESH_SECONDS = 1.0
STOP_SECONDS = 20.0
# Tempo waits a quarter of a minute before it calls itself ready.
READY_SECONDS = 90.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
MOST_RESTARTS, WITHIN_SECONDS = 5, 600.0
# What has never been ready is not going to be: its config or its disk is at fault.
MOST_FIRST_STARTS = 3
LOG_BYTES = 5 * 2**20


class AlreadyRuns(RuntimeError):
    """The data folder's stack has a supervisor already."""


class _Runner:
    """One program: its process now, and how often it had to be started."""

    def __init__(self, plan: Plan, program: Program) -> None:
        self.program = program
        self.plan = plan
        self.log = plan.folder / program.name / f"{program.name}.log"
        self.service = state.Service(program.name, plan.url(program.name), str(self.log))
        self.child: subprocess.Popen[bytes] | None = None
        self.ever_ready = False
        self.ended: deque[float] = deque(maxlen=MOST_RESTARTS + 1)
        self.next_start = 0.0
        self.deadline = 0.0

    def tick(self, now: float) -> None:
        """Move on: start what is due, notice what has ended or has become ready."""
        condition = self.service.condition
        if condition == "failed":
            return
        if self.child is None:
            if now >= self.next_start:
                self._start(now)
            return
        code = self.child.poll()
        if code is not None:
            self._has_ended(code, now)
        elif condition in ("starting", "restarting") and _answers(configs.ready_url(self.plan, self.program.name)):
            self.service.condition, self.service.problem = "ready", ""
            self.ever_ready = True
        elif condition != "ready" and now > self.deadline:
            self.service.problem = f"it runs, but is not ready after {READY_SECONDS:.0f} s; see {self.log}"

    @property
    def settled(self) -> bool:
        """Whether waiting for it makes no sense any more."""
        return self.service.condition in ("ready", "failed") or bool(self.deadline and time.monotonic() > self.deadline)

    def ask_to_stop(self) -> None:
        if self.child is not None and self.child.poll() is None:
            self.child.terminate()

    def stop(self, deadline: float) -> None:
        """Wait for it to end; its whole group ends when it does not."""
        if self.child is not None:
            try:
                self.child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.child.pid, signal.SIGKILL)
                self.child.wait()
        self.service.condition, self.service.process = "stopped", None

    def reload(self) -> None:
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(signal.SIGHUP)

    def _start(self, now: float) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.is_file() and self.log.stat().st_size > LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        try:
            with self.log.open("ab") as said:
                self.child = subprocess.Popen(
                    configs.command(self.plan, self.program),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    cwd=self.log.parent,
                    env=_environment(),
                    start_new_session=True,  # Ctrl-C is for the supervisor, which stops them in order
                )
        except OSError as error:
            self.service.condition, self.service.problem = "failed", f"it could not be started: {error}"
            return
        self.deadline = self.deadline or now + READY_SECONDS
        with contextlib.suppress(Exception):  # it may be gone already
            self.service.process = state.identify(self.child.pid, str(self.log.parent))

    def _has_ended(self, code: int, now: float) -> None:
        self.child, self.service.process = None, None
        self.ended.append(now)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        self.service.problem = f"it ended ({how}): {_last_words(self.log)}"
        recent = sum(now - moment < WITHIN_SECONDS for moment in self.ended)
        if recent > MOST_RESTARTS or (not self.ever_ready and recent >= MOST_FIRST_STARTS):
            self.service.condition = "failed"
            return
        self.service.restarts += 1
        self.service.condition = "restarting"
        self.next_start = now + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (recent - 1))


class Supervisor:
    """Runs a plan until told to stop."""

    def __init__(self, plan: Plan, *, with_server: bool = False) -> None:
        self.plan = plan
        self.runners = [_Runner(plan, program) for program in plan.services]
        self._with_server = with_server
        self._stop = threading.Event()
        self._me = state.identify(os.getpid(), "")
        self._written = b""
        self._settled = False

    def stop(self) -> None:
        """Ask `run` to end; safe in a signal handler."""
        self._stop.set()

    def run(self, ready: Callable[[list[state.Service]], None]) -> bool:
        """Supervise until `stop`. `ready` is told of every program once each works or has failed.

        False when all of them have failed for good.
        """
        folder = self.plan.folder
        for made in (self.plan.data_dir, folder):
            made.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _owned(folder):
            stop_leftovers(self.plan.data_dir)
            plans.write(folder / "plan.json", self.plan)
            configs.write(self.plan)
            try:
                return self._supervise(ready)
            finally:
                self._stop_all()
                state.remove(self.plan.data_dir)

    def _supervise(self, ready: Callable[[list[state.Service]], None]) -> bool:
        refresh = 0.0
        while not self._stop.is_set():
            now = time.monotonic()
            for runner in self.runners:
                runner.tick(now)
            if now >= refresh:
                refresh = now + REFRESH_SECONDS
                self._refresh()
            before, self._settled = self._settled, self._settled or all(runner.settled for runner in self.runners)
            self._tell_state()
            if self._settled and not before:
                ready([runner.service for runner in self.runners])
            if all(runner.service.condition == "failed" for runner in self.runners):
                return False
            self._stop.wait(TICK_SECONDS)
        return True

    def _refresh(self) -> None:
        """Follow the collector to another port or to a token."""
        runner = next((one for one in self.runners if one.program.name == "prometheus"), None)
        if runner is not None and configs.write_prometheus(self.plan):
            runner.reload()

    def _tell_state(self) -> None:
        services = [runner.service for runner in self.runners]
        now = state.State(self._me, services, self._with_server, self._settled)
        raw = msgspec.json.encode(now)
        if raw != self._written:
            state.write(self.plan.data_dir, now)
            self._written = raw

    def _stop_all(self) -> None:
        # Who asks goes first: Grafana asks the others.
        deadline = time.monotonic() + STOP_SECONDS
        for runner in reversed(self.runners):
            runner.ask_to_stop()
        for runner in reversed(self.runners):
            runner.stop(deadline)


def stop_leftovers(data_dir: Path) -> list[str]:
    """Stop programs whose supervisor was killed; says which."""
    left = state.read(data_dir)
    if left is None or left.supervisor.alive():
        return []
    stopped = [one.name for one in left.services if one.process is not None and one.process.alive()]
    for one in left.services:
        if one.process is not None:
            one.process.stop(STOP_SECONDS)
    state.remove(data_dir)
    return stopped


@contextlib.contextmanager
def _owned(folder: Path) -> Iterator[None]:
    try:
        with address.locked(folder, wait=0.0):
            yield
    except address.InUse:
        found = state.read(folder.parent)
        who = f" (pid {found.supervisor.pid})" if found else ""
        raise AlreadyRuns(
            f"the stack of {folder.parent} already runs{who}; 'rl-insight stack status' tells of it, "
            "'rl-insight stack stop' ends it"
        ) from None


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=2.0)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _environment() -> dict[str, str]:
    """Without what would override the configs (Grafana takes any setting from GF_…), and without our tokens."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("GF_", "RL_INSIGHT_"))}


def _last_words(log: Path) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - 2000))
            lines = stream.read().decode(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][-300:] if lines else f"it said nothing; see {log}"
