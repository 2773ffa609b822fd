"""How far the training of each run has come, and how its last finished step went."""

from __future__ import annotations

import logging
import re
import time

import duckdb
import msgspec

from rl_insight.export.prometheus.ledger import Ledger
from rl_insight.export.prometheus.processes import Process
from rl_insight.export.prometheus.totals import Totals
from rl_insight.read.about import about
from rl_insight.read.rows import Rows
from rl_insight.read.steps import between, trainers

logger = logging.getLogger(__name__)

_TRAINS = re.compile("^(train|learn|optim)", re.IGNORECASE)
# What is asked of the whole run is asked no oftener than this times as long as it took.
_REST = 20
_PAUSE_SECONDS = 60.0


class Progress(msgspec.Struct):
    """The newest step and when it began (seconds), and what is known of the last finished one."""

    step: int
    began: float
    finished: int | None = None
    duration: float | None = None
    wait_ratio: float | None = None
    staleness: float | None = None

    def gauges(self) -> dict[str, float | None]:
        """The metrics this makes."""
        return {
            "rl_insight_run_step": self.step,
            "rl_insight_run_last_step_timestamp_seconds": self.began,
            "rl_insight_step_duration_seconds": self.duration,
            "rl_insight_trainer_wait_ratio": self.wait_ratio,
            "rl_insight_staleness_versions": self.staleness,
        }


class Training:
    """Follows the steps of the runs that are shown. A finished step is looked at once."""

    def __init__(self) -> None:
        self._totals: dict[str, Totals] = {}
        self._progress: dict[str, Progress] = {}
        self._trainers: dict[str, tuple[int, list[str]]] = {}
        self._not_before: dict[str, float] = {}

    def progress(self, run: str) -> Progress | None:
        """How far a run has come, if it says."""
        return self._progress.get(run)

    def refresh(self, source: Rows, ledger: Ledger) -> None:
        """See which steps have begun and ended since the last time."""
        members: dict[str, list[Process]] = {}
        for one in ledger.processes:
            members.setdefault(one.run, []).append(one)
        for run in [run for run, totals in self._totals.items() if ledger.runs.get(run) is not totals]:
            # Gone, or deleted and begun anew.
            del self._totals[run]
            self._progress.pop(run, None)
            self._trainers.pop(run, None)
            self._not_before.pop(run, None)
        for run, processes in members.items():
            begun = _steps(ledger, run, processes)
            if not begun:
                continue
            self._totals[run] = ledger.runs[run]
            before = self._progress.get(run)
            newest = max(begun)
            now = Progress(newest, begun[newest])
            over = [step for step in begun if step < newest or not any(one.live for one in processes)]
            if before is not None:
                now = msgspec.structs.replace(before, step=now.step, began=now.began)
            self._progress[run] = now
            over = [step for step in sorted(over, reverse=True)[:2] if now.finished is None or step > now.finished]
            if over and time.monotonic() >= self._not_before.get(run, 0.0):
                self._look(source, ledger, run, processes, over)

    def _look(self, source: Rows, ledger: Ledger, run: str, processes: list[Process], over: list[int]) -> None:
        started = time.monotonic()
        pause = 0.0
        try:
            this = about(source, run, ledger.now)
            known = self._trainers.get(run)
            if known is None or known[0] != len(processes) or not known[1]:
                known = self._trainers[run] = (len(processes), trainers(source, this))
            found = between(source, this, known[1], min(over), max(over))
        except (duckdb.Error, LookupError) as error:
            logger.warning("metrics: step %s of %s could not be looked at: %s", max(over), run, error)
            found, pause = [], _PAUSE_SECONDS
        ended = time.monotonic()
        self._not_before[run] = ended + max(pause, _REST * (ended - started))
        closed = [one for one in found if not one.open]
        if closed:
            one = closed[-1]
            self._progress[run] = msgspec.structs.replace(
                self._progress[run],
                finished=one.step,
                duration=one.step_s,
                wait_ratio=one.wait_ratio,
                staleness=one.staleness,
            )


def _steps(ledger: Ledger, run: str, processes: list[Process]) -> dict[int, float]:
    """The newest steps of a run, and when each began. Those who train know best; where nobody is said to, anyone."""
    totals = ledger.runs.get(run)
    by_process: dict[str, dict[int, int]] = {} if totals is None else {p: dict(s) for p, s in totals.steps.items()}
    for going in ledger.open:
        if going.step is not None and going.step_began is not None:
            begun = by_process.setdefault(going.proc, {})
            begun[going.step] = min(going.step_began, begun.get(going.step, going.step_began))
    training = [one for one in processes if one.role and _TRAINS.match(one.role) and one.proc in by_process]
    found: dict[int, float] = {}
    for one in training or processes:
        for step, ts in by_process.get(one.proc, {}).items():
            moment = (ts + one.clock_offset) / 1e9
            found[step] = min(moment, found.get(step, moment))
    return found
