"""What can be chosen about a run, and the planted faults."""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

# Each fault has one true cause, which the views should name.
FAULTS = {
    "none": "nothing is wrong",
    "straggler": "worker 1 writes tokens eight times slower",
    "slow-tool": "the multiply tool takes ten times longer",
    "hung-session": "one tool call on worker 1 never returns",
    "leaking-queue": "the trainer is too slow, so the replay queue overflows",
    "reward-collapse": "the verifier gives every answer the same score, so groups have no spread",
    "nan-loss": "the loss is not a number",
    "lost-weights": "worker 1 never gets new weights",
    "killed-worker": "worker 1 is killed",
}
FAULTY_WORKER = 1
FAULTY_TOOL = "multiply"


@dataclass(frozen=True)
class Options:
    """Sizes and speeds of a run. The defaults learn in well under two minutes on two cores."""

    workers: int = 4
    slots: int = 4  # sessions that one worker runs at a time
    steps: int = 100
    seed: int = 3
    speed: float = 1.0  # 2 makes everything that waits take half as long
    group: int = 8  # sessions per task
    batch: int = 8  # tasks per train step
    capacity: int = 32  # groups the replay queue holds
    staleness: int = 4  # how many weight versions old a sample may be
    learning_rate: float = 0.015
    evaluate_every: int = 10
    checkpoint_every: int = 20
    checkpoints: Path | None = None
    fault: str = "none"
    fault_step: int = 5  # the weight version from which the fault acts
    with_parent: bool = False  # stop when the process that started the run is gone

    def has(self, fault: str, version: int) -> bool:
        return self.fault == fault and version >= self.fault_step

    # The network and the tools are real but tiny, so waiting stands in for the seconds a large model takes.
    def wait(self, seconds: float) -> None:
        time.sleep(seconds / self.speed)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)


def parse(arguments: list[str] | None = None) -> Options:
    """Options from a command line."""
    default = Options()
    parser = argparse.ArgumentParser(
        prog="python -m rl_insight.demo",
        description="A small real RL training run, recorded with RL-Insight.",
        epilog="faults: " + "; ".join(f"{name}: {text}" for name, text in FAULTS.items()),
    )
    whole = (
        ("workers", "rollout worker processes"),
        ("slots", "sessions per worker at a time"),
        ("steps", "train steps"),
        ("seed", "seed of puzzles, weights and sampling"),
        ("group", "sessions per task"),
        ("batch", "tasks per train step"),
        ("fault-step", "weight version from which the fault acts"),
    )
    for name, text in whole:
        parser.add_argument(f"--{name}", type=int, default=getattr(default, name.replace("-", "_")), help=text)
    parser.add_argument("--speed", type=float, default=default.speed, help="time factor: 2 is twice as fast")
    parser.add_argument("--fault", choices=FAULTS, default=default.fault, help="plant a fault")
    parser.add_argument("--checkpoints", type=Path, help="folder for checkpoints (default: a temporary one)")
    parser.add_argument("--with-parent", action="store_true", help="stop when the process that started it is gone")
    given = parser.parse_args(arguments)
    for name in ("workers", "slots", "steps", "batch"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if given.group < 2:
        parser.error("--group must be at least 2: advantages are relative to the group")
    if given.speed <= 0:
        parser.error("--speed must be above 0")
    return Options(**vars(given))
