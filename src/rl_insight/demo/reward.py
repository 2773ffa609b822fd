"""The reward process: scores attempts with the verifier, as a service the workers call."""

from __future__ import annotations

import asyncio
import contextlib
import random

import rl_insight as insight
from rl_insight.demo.channel import Channel, Closed, Pipe
from rl_insight.demo.messages import Score, ScoreRequest
from rl_insight.demo.options import Options
from rl_insight.demo.puzzle import score
from rl_insight.demo.tools import latency

LANES = 4


def main(options: Options, control: Pipe, workers: list[Pipe]) -> None:
    """The process: runs until the controller closes its pipe."""
    insight.init(role="reward", rank=0)
    try:
        asyncio.run(_serve(options, control, workers))
    finally:
        insight.close()


async def _serve(options: Options, control: Pipe, workers: list[Pipe]) -> None:
    todo: asyncio.Queue[tuple[Channel, ScoreRequest]] = asyncio.Queue()
    jobs = [_take(Channel(worker), todo) for worker in workers]
    jobs += [_score(options, todo, f"reward/{lane}") for lane in range(LANES)]
    tasks = [asyncio.create_task(job) for job in jobs]
    with contextlib.suppress(Closed):
        await Channel(control).receive()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _take(worker: Channel, todo: asyncio.Queue[tuple[Channel, ScoreRequest]]) -> None:
    with contextlib.suppress(Closed):
        while True:
            todo.put_nowait((worker, await worker.receive()))


async def _score(options: Options, todo: asyncio.Queue[tuple[Channel, ScoreRequest]], lane: str) -> None:
    luck = random.Random(options.seed)
    while True:
        with insight.trace_state("idle", state_lane_id=lane):
            worker, request = await todo.get()
        insight.set_step(request.weights)
        # Inside the worker's trace: this span becomes a child of the session's reward phase.
        with insight.extract(request.carrier), insight.trace_state("score", state_lane_id=lane):
            with insight.trace_span("verify", attributes={"turns": request.attempt.turns}):
                await options.pause(latency(luck, 0.025))
                reward, solved = score(request.attempt), request.attempt.solved
            if options.has("reward-collapse", request.weights):
                reward, solved = 0.1, False
            insight.metric_distribution("reward", reward)
            insight.fact("reward.score.answered", tags={"reward": request.session}, outcome="ok", score=reward)
        worker.send(Score(request.session, reward, solved))
