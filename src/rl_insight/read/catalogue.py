"""What is running, what ran? The runs as the page lists them."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from rl_insight.read.rows import Rows, answers
from rl_insight.read.runs import runs

# The first that a run has recorded is its reward.
REWARD_NAMES = [
    "reward_mean",
    "reward",
    "rewards_mean",
    "mean_reward",
    "critic/rewards/mean",
    "critic/score/mean",
    "score",
]


class Listed(msgspec.Struct):
    """A run in the list; moments are epoch ms."""

    run: str
    project: str | None
    experiment: str | None
    state: Literal["live", "finished", "lost"]
    first: float | None
    last: float | None
    processes: int
    live_processes: int
    lost_processes: int
    lines: int
    lines_per_s: float | None
    step: int | None
    reward: float | None
    rewards: list[float]


class Catalogue(msgspec.Struct):
    """All runs at a moment, the one heard from last first."""

    at: float
    runs: list[Listed]


class _Reward(msgspec.Struct):
    run: str
    reward: float
    rewards: list[float]


def catalogue(source: Rows, now: int | None = None) -> Catalogue:
    """All runs, with how fast they record and how their reward goes."""
    moment = time.time_ns() if now is None else now
    rewards = {one.run: one for one in answers(source, "rewards", _Reward, {"names": REWARD_NAMES})}
    listed = []
    for run in runs(source, moment):
        reward = rewards.get(run.run)
        first, last = _ms(run.first_ts), _ms(run.last_ts)
        seconds = (last - first) / 1e3 if first is not None and last is not None else 0.0
        listed.append(
            Listed(
                run=run.run,
                project=run.project,
                experiment=run.experiment,
                state=run.state,
                first=first,
                last=last,
                processes=run.processes,
                live_processes=run.live_processes,
                lost_processes=run.lost_processes,
                lines=run.lines,
                lines_per_s=run.lines / seconds if seconds > 0 else None,
                step=run.step,
                reward=reward.reward if reward else None,
                rewards=reward.rewards if reward else [],
            )
        )
    return Catalogue(moment / 1e6, listed)


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6
