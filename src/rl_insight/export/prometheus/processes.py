"""Who is who on `/metrics`: which process shows under which role and rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

# Clocks of two machines agree no better than this, however well their offset is known.
_BETWEEN_NODES_NS = 1_000_000_000


class Process(NamedTuple):
    """A recording process, as `processes.sql` tells of it. Moments are ns, by its own clock."""

    run: str
    proc: str
    project: str | None
    experiment: str | None
    role: str | None
    rank: int | None
    node: str
    pid: int | None
    started: int
    last_ts: int
    clock_offset: int
    clock_known: bool
    finished: bool
    live: bool
    engine: bool
    seq: int
    lines: int

    @property
    def began(self) -> int:
        """When it started, by the collector's clock."""
        return self.started + self.clock_offset

    @property
    def heard(self) -> int:
        """When it was last heard from, by the collector's clock."""
        return self.last_ts + self.clock_offset

    @property
    def place(self) -> str:
        """Where it runs: text that no other process of the same time has."""
        return f"{self.node}:{self.pid}" if self.pid is not None else self.proc


class Who(NamedTuple):
    """The labels of a process. Two processes that ran at the same time never have the same."""

    run: str
    project: str
    experiment: str
    role: str
    rank: str


def who_is_who(processes: Iterable[Process]) -> dict[str, Who]:
    """The labels of every process, by `proc`. One that takes the place of another has the labels of that one.

    A rank belongs to the first process that has it and to those after its end. One that runs beside its holder (the
    child of a fork) is told apart by node and pid. Processes without a rank share the empty one while they take turns;
    once two of a role have run at the same time, each goes by its node and pid.
    """
    groups: dict[tuple[str, str, int | None], list[Process]] = {}
    for one in processes:
        groups.setdefault((one.run, one.role or "", one.rank), []).append(one)
    found: dict[str, Who] = {}
    for (_, role, rank), members in groups.items():
        members.sort(key=lambda one: (one.began, one.proc))
        texts = _unranked(members) if rank is None else _ranked(members, str(rank))
        for one, text in zip(members, texts, strict=True):
            found[one.proc] = Who(one.run, one.project or "", one.experiment or "", role, text)
    return found


def _ranked(members: Sequence[Process], rank: str) -> list[str]:
    texts: list[str] = []
    holders: dict[str, Process] = {}
    for one in members:
        for text in (rank, f"{rank}@{one.place}", f"{rank}@{one.proc}"):
            if text not in holders or not _beside(holders[text], one):
                holders[text] = one
                texts.append(text)
                break
    return texts


def _unranked(members: Sequence[Process]) -> list[str]:
    latest = members[0]
    for one in members[1:]:
        if _beside(latest, one):
            break
        latest = one
    else:
        return [""] * len(members)
    texts = []
    holders: dict[str, Process] = {}
    for one in members:
        text = one.place
        if text in holders and _beside(holders[text], one):
            text = one.proc
        holders[text] = one
        texts.append(text)
    return texts


def _beside(before: Process, after: Process) -> bool:
    """Whether `before` was still heard from when `after`, which began later, was already there."""
    if before.node == after.node:  # one clock for both
        return before.last_ts > after.started
    return before.heard > after.began + _BETWEEN_NODES_NS
