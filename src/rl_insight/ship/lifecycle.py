"""Starting and stopping the recording of a process: at `init`, at exit, in forked children."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from rl_insight.config import INHERITED, Config, inherited
from rl_insight.record.recorder import current, recorder
from rl_insight.ship.file import FileSink
from rl_insight.ship.http import HttpSink
from rl_insight.ship.ray import RaySink
from rl_insight.ship.shipment import Course, Shipment, Status


class Waiting:
    """A process that records and does not know yet for which run: until then its records stay in the buffer."""

    def __init__(
        self, config: Config, hook: Callable[[str, Any], Any] | None, decide: Callable[[bool], Course | None]
    ) -> None:
        self.config = config
        self._hook = hook
        self._decide = decide
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rl-insight-join", daemon=True)

    def start(self) -> None:
        """Record, and go on asking how."""
        recorder.reset(self.config.ship.buffer_lines)
        recorder.active = True
        self._thread.start()

    def end(self) -> Shipment | None:
        """Wait no longer: go on as is best now. The caller holds the lock."""
        self._end.set()
        return self._begin(last=True)

    def _run(self) -> None:
        pause = _ASK_AGAIN
        while not self._end.wait(pause):
            pause = min(2 * pause, _ASK_AGAIN_AT_LAST)
            try:
                course = self._decide(False)
            except Exception as error:  # whoever decides is not to end the record
                recorder.problem("join", f"the run could not be joined: {type(error).__name__}: {error}")
                continue
            if course is not None:
                with _lock:
                    if not self._end.is_set():
                        self._end.set()
                        self._begin(course)
                return

    def _begin(self, course: Course | None = None, last: bool = False) -> Shipment | None:
        global _shipment, _waiting
        try:
            course = self._decide(True) if last else course
            assert course is not None, "a last decision is a decision"
            _shipment = _make(course, self._hook, recording=True)
            _shipment.start()
            return _shipment
        except Exception as error:
            recorder.active = False
            recorder.warn(f"rl-insight: this process is not recorded: {type(error).__name__}: {error}")
            return None
        finally:
            _waiting = None  # last: until then, whoever asks how it goes is told that we wait


# Thousands of processes may be asking.
_ASK_AGAIN, _ASK_AGAIN_AT_LAST = 0.1, 2.0
_lock = threading.RLock()
_shipment: Shipment | None = None
_waiting: Waiting | None = None
_exported: dict[str, str] = {}
_exit_arranged = False
_exiting = False


def start(
    config: Config, hook: Callable[[str, Any], Any] | None = None, course: Course | None = None
) -> Shipment | None:
    """Begin to record under these settings; does nothing when that is under way or disabled."""
    global _shipment
    with _lock:
        if recorder.active and (_shipment is not None or _waiting is not None):
            return _shipment
        if not config.enabled or config.ship.sink == "none":
            return None
        joined = config.run is not None
        _shipment = _make(course or Course(config), hook)
        _shipment.start()
        if not joined:
            _announce(_shipment)
        return _shipment


def wait(config: Config, hook: Callable[[str, Any], Any] | None, decide: Callable[[bool], Course | None]) -> None:
    """Begin to record before it is known for which run.

    `decide` is asked again and again how to go on. Asked with True, because the process ends, it has to know.
    """
    global _waiting
    with _lock:
        if recorder.active or not config.enabled or config.ship.sink == "none":
            return
        _arrange_exit()
        _waiting = Waiting(config, hook, decide)
        _waiting.start()


def _make(course: Course, hook: Callable[[str, Any], Any] | None, *, recording: bool = False) -> Shipment:
    made = Shipment(course.config, hook, recording=recording)
    made.keeper = course.keeper
    if isinstance(made.sink, RaySink):
        made.sink.on_missing = course.on_missing
    _export(made, course.told)
    _arrange_exit()
    return made


def stop(timeout: float | None = None) -> None:
    """Deliver or spool everything and stop; a later `start` begins anew."""
    with _lock:
        if _waiting is not None and recorder.active:
            _waiting.end()
        if _shipment is None or not recorder.active or _shipment.pid != os.getpid():
            return
        _shipment.stop(_shipment.config.ship.close_timeout if timeout is None else timeout)
        for variable, value in _exported.items():
            if os.environ.get(variable) == value:
                del os.environ[variable]
        _exported.clear()


def rest(config: Config) -> None:
    """Stop, and begin anew under these settings if something is recorded after all. The run stays the same."""
    global _shipment
    with _lock:
        before = _shipment
        if before is None or not recorder.active or before.pid != os.getpid():
            return
        stop()
        resting = _shipment = Shipment(config, before.hook, parent=before.identity.proc)
        resting.rests = True

        def wake() -> None:
            resting.start()
            _announce(resting)

        recorder.sleep(wake)
        recorder.active = True


def resting() -> bool:
    """Whether what runs is only what `rest` left, and another `start` may take its place."""
    return recorder.active and _shipment is not None and _shipment.rests


def flush(timeout: float) -> bool:
    """Wait until everything recorded so far is delivered; False when time ran out. True when not recording."""
    deadline = time.monotonic() + timeout
    while _waiting is not None and recorder.active:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
    shipment = _shipment
    if not recorder.active or shipment is None:
        return True
    return shipment.sender.flush(max(0.0, deadline - time.monotonic()))


def status() -> Status:
    """How recording goes, or went."""
    if _waiting is not None and recorder.active:
        return Status(
            active=True,
            sink="the buffer, until the run of this job is known",
            buffered=len(recorder.buffer),
            problems=dict(recorder.problems),
        )
    return _shipment.status() if _shipment is not None else Status()


def shipment() -> Shipment | None:
    """What is running, for tests and adapters."""
    return _shipment


def _export(shipment: Shipment, more: dict[str, str]) -> None:
    """Tell child processes, through the environment, which run they belong to and where their lines go."""
    config, sink = shipment.config, shipment.sink
    told = {
        INHERITED: inherited(config),
        "RL_INSIGHT_RUN": shipment.identity.run,
        "RL_INSIGHT_PROJECT": config.project or "",
        "RL_INSIGHT_EXPERIMENT": config.experiment or "",
    }
    if isinstance(sink, HttpSink):
        told["RL_INSIGHT_SERVER_URL"] = sink.url
        told["RL_INSIGHT_TOKEN"] = sink.token
    elif isinstance(sink, RaySink):
        told["RL_INSIGHT_SERVER_URL"] = sink.url
    elif isinstance(sink, FileSink):
        told["RL_INSIGHT_DIR"] = str(sink.path.parent)
    told |= more
    for variable, value in told.items():
        value = value.encode("utf-8", "replace").decode().replace("\0", "")
        if value and variable not in os.environ:
            os.environ[variable] = _exported[variable] = value


def _announce(shipment: Shipment) -> None:
    if os.environ.get("RL_INSIGHT_QUIET"):
        return
    sink = shipment.sink
    if isinstance(sink, FileSink):
        print(
            f"rl-insight: run {shipment.identity.run} is recorded to {sink.path.parent}\n"
            f"rl-insight: look at it with: rl-insight open {sink.path.parent}",
            file=sys.stderr,
        )
    elif isinstance(sink, HttpSink):
        print(f"rl-insight: run {shipment.identity.run} is recorded to {sink.url}", file=sys.stderr)


def exiting() -> bool:
    """Whether the interpreter is about to end."""
    return _exiting


def _stop_at_exit() -> None:
    global _exiting
    _exiting = True
    stop()


def _arrange_exit() -> None:
    global _exit_arranged
    if not _exit_arranged:
        _exit_arranged = True
        atexit.register(_stop_at_exit)
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork)
    if "multiprocessing.util" in sys.modules:
        _finish_with_multiprocessing(None)


def _finish_with_multiprocessing(_: object) -> None:
    # multiprocessing's children leave through os._exit and never come to atexit.
    from multiprocessing import util

    util.Finalize(None, stop, exitpriority=50)


def _before_fork() -> None:
    # Nobody starts or stops while we fork: the child gets a whole state, and knows by whom the lock is held.
    _lock.acquire()


def _after_fork_in_parent() -> None:
    _lock.release()


def _after_fork() -> None:
    """In a forked child: a process of its own, with an empty buffer, that knows where it came from.

    Its threads start with the first thing it records: a child that only goes on to `exec` records nothing.
    """
    global _shipment, _waiting, _lock
    _lock = threading.RLock()
    if _waiting is not None and recorder.active:
        _waiting = None
        recorder.active = False
        recorder.warn("rl-insight: a child forked before the run was known is not recorded unless it calls init()")
        return
    parents = _shipment
    if parents is None or not recorder.active:
        return
    recorder.active = False
    _close_inherited_spans()
    parents.sampler.abandon()
    parents.outbox.abandon()
    parents.sink.abandon()
    try:
        config = msgspec.structs.replace(parents.config, aliases={})
        me = parents.identity
        child = Shipment(config, parents.hook, parent=me.proc if parents.sender.started else me.parent)
        if "multiprocessing.util" in sys.modules:
            from multiprocessing import util

            # Registered now, run once multiprocessing has forgotten the parent's finalizers.
            util.register_after_fork(child, _finish_with_multiprocessing)
        _shipment = child
        recorder.sleep(child.start)
        recorder.active = True
    except Exception as error:  # the child's own work matters more than its record
        recorder.warn(f"rl-insight: a forked child is not recorded: {type(error).__name__}: {error}")


def _close_inherited_spans() -> None:
    """The parent's open spans stay the parent's: here they only name where the child was forked."""
    inherited = [*recorder.open.values(), *recorder.announced.values()]
    here = current.get()
    while here is not None:
        inherited.append(here)
        here = here.outer
    for span in inherited:
        span.trace = recorder.hex_trace(span.trace or span.id)
        span.end = span.end or -1
