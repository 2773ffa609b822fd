"""What runs, as a file that other terminals read: who supervises, and every program with its pid and how it is."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import psutil

from rl_insight.stack.files import put
from rl_insight.stack.plan import folder_of

Condition: TypeAlias = Literal["starting", "ready", "restarting", "failed", "stopped"]
# The kernel counts in ticks since boot; what that is in wall time moves when the clock is set.
_SAME_START = 5.0
_BECOMING = 1.0


class Process(msgspec.Struct):
    """A process that is known again: a pid alone may belong to somebody else by now."""

    pid: int
    started: float
    mark: str  # part of its command line

    def alive(self) -> bool:
        """Whether this very process still runs."""
        try:
            found = psutil.Process(self.pid)
            if found.status() == psutil.STATUS_ZOMBIE or abs(found.create_time() - self.started) > _SAME_START:
                return False
            return self.mark in _command_line(found)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False

    def stop(self, seconds: float) -> bool:
        """Ask it to end, and make it end after a while. Says whether it went by itself."""
        if not self.signal(signal.SIGTERM):
            return True
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > deadline:
                self.signal(signal.SIGKILL)
                return False
            time.sleep(0.05)
        return True

    def signal(self, number: int) -> bool:
        """Send a signal to it, if it still is who it was."""
        if not self.alive():
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True


class Service(msgspec.Struct):
    """A program of the stack as it is now."""

    name: str
    url: str
    log: str
    condition: Condition = "starting"
    process: Process | None = None
    restarts: int = 0
    problem: str = ""


class State(msgspec.Struct):
    """The stack of a data folder."""

    supervisor: Process
    services: list[Service]
    with_server: bool = False
    settled: bool = False  # each was ready once, or has been given up


def identify(pid: int, mark: str) -> Process:
    """A process as it is to be known again. The mark is an argument: a wrapper may hide the program's own name."""
    return Process(pid, psutil.Process(pid).create_time(), mark)


def _command_line(process: psutil.Process) -> str:
    """What it was started with. In the moment in which a process becomes another program there is none yet."""
    deadline = time.monotonic() + _BECOMING
    while not (said := " ".join(process.cmdline())) and time.monotonic() < deadline:
        time.sleep(0.005)
    return said


def path_of(data_dir: Path) -> Path:
    return folder_of(data_dir) / "state.json"


def read(data_dir: Path) -> State | None:
    """What the state file says; the supervisor may have been killed since."""
    try:
        return msgspec.json.decode(path_of(data_dir).read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return None


def write(data_dir: Path, state: State) -> None:
    put(path_of(data_dir), msgspec.json.format(msgspec.json.encode(state)) + b"\n", mode=0o600)


def remove(data_dir: Path) -> None:
    path_of(data_dir).unlink(missing_ok=True)
