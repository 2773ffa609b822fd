"""A rollout worker: samples tasks, several sessions at a time, with whatever weights it has got last."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np

import rl_insight as insight
from rl_insight.demo.channel import Channel, Closed, Pipe
from rl_insight.demo.messages import Failure, NewWeights, Rollout, Score, ScoreRequest, Work
from rl_insight.demo.options import FAULTY_WORKER, Options
from rl_insight.demo.policy import next_token, observe, start_weights
from rl_insight.demo.puzzle import VOCABULARY, Attempt, Call, complete
from rl_insight.demo.tools import use

TOKEN_SECONDS = 0.008


def main(rank: int, options: Options, work: Pipe, reward: Pipe, weights: Pipe) -> None:
    """The process: runs until the controller closes its pipe."""
    # Nothing but role and rank: run, project and server come from the environment that the driver's init set.
    insight.init(role="rollout", rank=rank)
    try:
        asyncio.run(Worker(rank, options).run(work, reward, weights))
    finally:
        insight.close()


class Worker:
    """Weights, slots that play sessions with them, and sessions waiting for their score."""

    def __init__(self, rank: int, options: Options) -> None:
        self.rank = rank
        self.options = options
        self.weights = start_weights(options.seed)
        self.version = 0
        self.rng = np.random.default_rng((options.seed, rank))
        self.luck = random.Random(options.seed * 1000 + rank)
        self.todo: asyncio.Queue[Work] = asyncio.Queue()
        self.scores: dict[str, asyncio.Future[Score]] = {}
        self.hung = False

    async def run(self, work: Pipe, reward: Pipe, weights: Pipe) -> None:
        self.controller, self.verifier = Channel(work), Channel(reward)
        others = [self.play_sessions(f"worker-{self.rank}/{slot}") for slot in range(self.options.slots)]
        others += [self.take_scores(), self.take_weights(Channel(weights))]
        tasks = [asyncio.create_task(other) for other in others]
        with contextlib.suppress(Closed):
            while True:
                self.todo.put_nowait(await self.controller.receive())
        # Cancelling closes what is open: sessions that were cut off are recorded as cancelled.
        for task in tasks:
            task.cancel("the run is over")
        await asyncio.gather(*tasks, return_exceptions=True)

    async def play_sessions(self, lane: str) -> None:
        while True:
            with insight.trace_state("idle", state_lane_id=lane):
                work = await self.todo.get()
            # The carrier says which task this is and when it was submitted, so the session inside joins the
            # task's trace and knows how long it has been queued.
            with insight.extract(work.carrier):
                insight.fact("task.item.taken", tags={"task": work.task, "session": work.session})
                self.controller.send(await self.play(work, lane))

    async def play(self, work: Work, lane: str) -> Rollout | Failure:
        attempt, written = Attempt(work.puzzle), Written()
        version = self.version
        with insight.session(work.session, worker=self.rank, weights=version) as session:
            try:
                while not attempt.over:
                    with insight.turn(attempt.turns + 1):
                        await self.take_turn(attempt, written, lane)
                score = await self.ask_for_score(work.session, attempt, version, lane)
            except (TimeoutError, Closed) as error:
                reason = str(error) or "the reward process is gone"
                session.finish("failed", reason=reason)
                return Failure(work.session, reason)
            session.set(reward=score.reward, tokens=len(written.chosen), turns=attempt.turns)
        insight.metric_count("rollout_sessions", 1, worker=str(self.rank))
        return Rollout(
            work.session,
            self.rank,
            version,
            score.reward,
            score.solved,
            np.stack(written.seen),
            np.array(written.chosen),
            np.array(written.log_probability, dtype=np.float32),
        )

    async def take_turn(self, attempt: Attempt, written: Written, lane: str) -> None:
        turn: list[str] = []
        with doing("generate", lane, weights=self.version) as phase:
            while not turn or not complete(turn):
                await self.options.pause(TOKEN_SECONDS * self.slowness())
                seen = observe(attempt, turn)
                token, log_probability = next_token(self.weights, seen, self.rng)
                turn.append(VOCABULARY[token])
                written.add(seen, token, log_probability)
            phase.set(tokens=len(turn))
        insight.metric_count("rollout_tokens", len(turn), worker=str(self.rank))
        call = attempt.take(turn)
        if call is not None:
            with doing("tool", lane, tool=call.tool, arguments=[call.left, call.right]) as phase:
                attempt.results.append(await self.use_tool(call))
                phase.set(result=attempt.results[-1])

    async def use_tool(self, call: Call) -> int:
        if self.options.has("hung-session", self.version) and self.rank == FAULTY_WORKER and not self.hung:
            self.hung = True
            await asyncio.Event().wait()
        started = asyncio.get_running_loop().time()
        try:
            return await use(call, self.options, self.luck, self.version)
        finally:
            seconds = asyncio.get_running_loop().time() - started
            insight.metric_distribution("tool_latency_seconds", seconds, tool=call.tool)

    async def ask_for_score(self, session: str, attempt: Attempt, version: int, lane: str) -> Score:
        answer: asyncio.Future[Score] = asyncio.get_running_loop().create_future()
        self.scores[session] = answer
        with doing("reward", lane):
            # `requested` here and `answered` in the reward process are found as a pair by their tag.
            insight.fact("reward.score.requested", tags={"reward": session}, peer="reward")
            self.verifier.send(ScoreRequest(session, attempt, version, insight.inject()))
            return await answer

    async def take_scores(self) -> None:
        try:
            while True:
                score: Score = await self.verifier.receive()
                self.scores.pop(score.session).set_result(score)
        except Closed as closed:
            for waiting in self.scores.values():
                waiting.set_exception(closed)

    async def take_weights(self, trainer: Channel) -> None:
        with contextlib.suppress(Closed):
            while True:
                new: NewWeights = await trainer.receive()
                if self.options.has("lost-weights", new.version) and self.rank == FAULTY_WORKER:
                    continue
                tags = {"weights": str(new.version)}
                insight.fact("weights.version.received", tags=tags, peer="trainer")
                with insight.trace_state("sync_weights", state_lane_id=f"worker-{self.rank}"):
                    await self.options.pause(0.03)
                    # Sessions in flight go on with the new weights from their next token.
                    self.weights, self.version = new.weights, new.version
                insight.set_step(new.version)
                insight.fact("weights.version.applied", tags=tags)
                insight.metric_gauge("weights_version", new.version, worker=str(self.rank))
                if self.options.has("killed-worker", new.version) and self.rank == FAULTY_WORKER:
                    os.kill(os.getpid(), signal.SIGKILL)

    def slowness(self) -> float:
        return 8.0 if self.rank == FAULTY_WORKER and self.options.has("straggler", self.version) else 1.0


class Written:
    """The tokens of a session, as training will need them."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.chosen: list[int] = []
        self.log_probability: list[float] = []

    def add(self, seen: Any, token: int, log_probability: float) -> None:
        self.seen.append(seen)
        self.chosen.append(token)
        self.log_probability.append(log_probability)


@contextlib.contextmanager
def doing(name: str, lane: str, **attrs: Any) -> Iterator[Any]:
    """A phase of the session and, at the same time, what the slot's lane is doing."""
    with insight.trace_state(name, state_lane_id=lane), insight.phase(name, **attrs) as phase:
        yield phase
