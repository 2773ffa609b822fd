"""What the processes send each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rl_insight.demo.policy import Array, Weights
from rl_insight.demo.puzzle import Attempt, Puzzle


@dataclass
class Work:
    """Controller to worker: sample this task once. The carrier ties what the worker records to the task."""

    session: str
    task: str
    puzzle: Puzzle
    carrier: Mapping[str, str]


@dataclass
class Rollout:
    """Worker to controller: a finished session, with what training needs of every token."""

    session: str
    worker: int
    weights: int
    reward: float
    solved: bool
    seen: Array
    chosen: NDArray[np.int64]
    log_probability: Array


@dataclass
class Failure:
    """Worker to controller: a session that came to nothing."""

    session: str
    reason: str


@dataclass
class ScoreRequest:
    """Worker to reward process."""

    session: str
    attempt: Attempt
    weights: int
    carrier: Mapping[str, str]


@dataclass
class Score:
    """Reward process to worker."""

    session: str
    reward: float
    solved: bool


@dataclass
class Group:
    """The sessions of one task that can be trained on together."""

    task: str
    rollouts: list[Rollout]


@dataclass
class BatchRequest:
    """Trainer to controller: I have these weights, give me the next batch."""

    version: int
    step: int


@dataclass
class NewWeights:
    """Trainer to worker."""

    version: int
    weights: Weights


@dataclass
class Summary:
    """Trainer to controller, at the end."""

    steps: int
    first_reward: float
    last_reward: float
    evaluation: float
    tokens: int
    checkpoint: str
