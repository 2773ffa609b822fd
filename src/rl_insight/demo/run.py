"""Starts the processes of a run, joins them with pipes, and stops them whatever happens."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import rl_insight as insight
from rl_insight.demo import reward, trainer, worker
from rl_insight.demo.channel import Pipe
from rl_insight.demo.controller import Controller
from rl_insight.demo.messages import Summary
from rl_insight.demo.options import Options

STOP_SECONDS = 8.0


@dataclass
class Result:
    """How a run went; `summary` is None when it was stopped before its end."""

    summary: Summary | None
    seconds: float
    cpu_seconds: float

    def as_dict(self) -> dict[str, Any]:
        numbers = {"seconds": round(self.seconds, 2), "cpu_seconds": round(self.cpu_seconds, 2)}
        return {"finished": self.summary is not None, **(asdict(self.summary) if self.summary else {}), **numbers}


def run(options: Options) -> Result:
    """Train, recording all of it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rl-insight-demo-") as temporary:
        folder = options.checkpoints or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        options = replace(options, checkpoints=folder)
        # Puzzles are no secret. Prompts and responses of real users are, so text is recorded only where asked for.
        os.environ.setdefault("RL_INSIGHT_RECORD_TEXT", "1")
        # The first init of a run. It puts the run's id into the environment, where the children's init finds it.
        insight.init("demo", "arithmetic", {"resources": {"interval": 2.0}}, role="controller", rank=0)
        with Stop() as stop:
            try:
                with processes(options) as pipes:
                    summary = asyncio.run(_control(options, pipes, stop))
            finally:
                insight.close()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in used)
    return Result(summary, time.monotonic() - started, cpu)


@dataclass
class Pipes:
    """The controller's ends."""

    workers: list[Pipe]
    trainer: Pipe
    reward: Pipe


async def _control(options: Options, pipes: Pipes, stop: Stop) -> Summary | None:
    """The controller, until it is done or somebody asks to stop."""
    running = asyncio.create_task(Controller(options).run(pipes.workers, pipes.trainer, pipes.reward))
    stop.cancel_on_signal(running)
    watching = asyncio.create_task(_end_with_parent(running)) if options.with_parent else None
    try:
        return await running
    except asyncio.CancelledError:
        insight.log("info", "stopped before the end")
        return None
    finally:
        if watching is not None:
            watching.cancel()


class Stop:
    """Answers Ctrl-C and SIGTERM once and takes the next ones calmly, so that the end is orderly too."""

    def __init__(self) -> None:
        self.asked = False
        self.running: asyncio.Task[Any] | None = None

    def __enter__(self) -> Stop:
        self.before = {number: signal.signal(number, self.ask) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def ask(self, number: int, frame: object) -> None:
        self.asked = True
        if self.running is not None and not self.running.done():
            self.running.get_loop().call_soon_threadsafe(self.running.cancel)

    def cancel_on_signal(self, running: asyncio.Task[Any]) -> None:
        self.running = running
        if self.asked:
            running.cancel()


async def _end_with_parent(running: asyncio.Task[Any]) -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        await asyncio.sleep(0.5)
    running.cancel()


@contextmanager
def processes(options: Options) -> Iterator[Pipes]:
    """All processes but this one. They end when this one closes its pipes to them, or dies."""
    context = multiprocessing.get_context("spawn")
    ranks = range(options.workers)
    work, scores, weights = ([context.Pipe() for _ in ranks] for _ in range(3))
    batches, control = context.Pipe(), context.Pipe()
    children: list[SpawnProcess] = []
    for rank in ranks:
        given = (rank, options, work[rank][1], scores[rank][0], weights[rank][1])
        children.append(context.Process(target=worker.main, args=given, name=f"worker-{rank}", daemon=True))
    given_reward = (options, control[1], [pipe[1] for pipe in scores])
    children.append(context.Process(target=reward.main, args=given_reward, name="reward", daemon=True))
    given_trainer = (options, batches[1], [pipe[0] for pipe in weights])
    children.append(context.Process(target=trainer.main, args=given_trainer, name="trainer", daemon=True))
    own = Pipes([pipe[0] for pipe in work], batches[0], control[0])
    try:
        # A terminal sends Ctrl-C to all. Children inherit that it is ignored, so this process alone acts on it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            for child in children:
                child.start()
        finally:
            signal.signal(signal.SIGINT, before)
        # An end that stays open here would hide from the others that its process has died.
        for pipe in [*(end for _, end in work), *(end for both in (*scores, *weights) for end in both)]:
            pipe.close()
        batches[1].close()
        control[1].close()
        yield own
    finally:
        for pipe in (*own.workers, own.trainer, own.reward):
            pipe.close()
        _end(children)


def _end(children: list[SpawnProcess]) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    started = [child for child in children if child.pid is not None]
    for child in started:
        child.join(max(0.0, deadline - time.monotonic()))
    for child in started:
        if child.is_alive():
            child.kill()
            child.join()
