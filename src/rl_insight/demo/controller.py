"""The controller: hands tasks out to workers, gathers groups, and feeds the trainer from the replay queue."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque

import rl_insight as insight
from rl_insight.demo.channel import Channel, Closed, Pipe
from rl_insight.demo.messages import BatchRequest, Failure, Group, Rollout, Summary, Work
from rl_insight.demo.options import Options
from rl_insight.demo.puzzle import Puzzle, make_puzzle
from rl_insight.demo.replay import Replay


class RunFailed(Exception):
    """The run cannot go on."""


class Controller:
    """Tasks in flight, what each worker is busy with, and the replay queue."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.version = 0
        self.replay = Replay(options.capacity, options.staleness, self.evicted)
        self.arrived = asyncio.Event()
        self.pending: deque[Work] = deque()
        self.workers: dict[int, Channel] = {}
        self.busy: dict[int, set[str]] = {}
        self.waiting: dict[str, asyncio.Future[Rollout | Failure]] = {}
        self.fates: dict[str, asyncio.Future[tuple[str, str | None]]] = {}
        self.over: asyncio.Future[Summary] = asyncio.get_running_loop().create_future()

    async def run(self, workers: list[Pipe], trainer: Pipe, reward: Pipe) -> Summary:
        """Run until the trainer has done its steps. Cancelling this cancels the tasks in flight."""
        self.workers = {rank: Channel(pipe) for rank, pipe in enumerate(workers)}
        self.busy = {rank: set() for rank in self.workers}
        jobs = [self.follow(rank) for rank in self.workers]
        jobs += [self.feed(Channel(trainer)), self.watch_reward(Channel(reward)), self.submit_tasks()]
        running = [asyncio.create_task(job) for job in jobs]
        try:
            return await self.over
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def submit_tasks(self) -> None:
        rng = random.Random(self.options.seed)
        # A little more work than fits into the slots, so that none is idle; more would only grow stale.
        room = asyncio.Semaphore(self.options.workers * self.options.slots // self.options.group + 2)
        running: set[asyncio.Task[None]] = set()
        number = 0
        try:
            while True:
                await room.acquire()
                number += 1
                task = asyncio.create_task(self.run_task(f"task-{number}", make_puzzle(rng), room))
                running.add(task)
                task.add_done_callback(running.discard)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def run_task(self, name: str, puzzle: Puzzle, room: asyncio.Semaphore) -> None:
        """One task from its submission until its samples are trained on or given up."""
        with insight.task(name, prompt=str(puzzle), operations=len(puzzle.operations)) as task:
            results = await asyncio.gather(*self.submit(name, puzzle))
            room.release()
            group = Group(name, [result for result in results if self.is_fresh(result)])
            # An advantage is relative to the group, so a single sample has none.
            if len(group.rollouts) < 2:
                task.finish("rejected", reason="fewer than two samples are left")
                return
            fate = self.fates[name] = asyncio.get_running_loop().create_future()
            self.replay.put(group)
            self.arrived.set()
            status, reason = await fate
            task.finish(status, reason=reason)

    def submit(self, name: str, puzzle: Puzzle) -> list[asyncio.Future[Rollout | Failure]]:
        """Queue the sessions of the current task. What `inject` returns lets any process continue this trace."""
        results = []
        for number in range(self.options.group):
            session = f"{name}.{number}"
            result = self.waiting[session] = asyncio.get_running_loop().create_future()
            results.append(result)
            self.pending.append(Work(session, puzzle, insight.inject(), time.time_ns()))
        self.assign()
        return results

    def assign(self) -> None:
        """Give pending sessions to the workers with the most free slots."""
        while self.pending and self.busy:
            rank = min(self.busy, key=lambda rank: len(self.busy[rank]))
            if len(self.busy[rank]) >= self.options.slots:
                break
            work = self.pending.popleft()
            self.busy[rank].add(work.session)
            insight.fact("task.item.assigned", tags={"session": work.session}, peer=f"worker-{rank}")
            self.workers[rank].send(work)
        insight.metric_gauge("queue_depth", len(self.pending), queue="sessions")

    def is_fresh(self, result: Rollout | Failure) -> bool:
        if isinstance(result, Failure):
            return False
        staleness = self.version - result.weights
        if staleness > self.options.staleness:
            insight.finish_session(result.session, "rejected", reason="too stale", staleness=staleness)
            return False
        return True

    def evicted(self, group: Group, reason: str) -> None:
        self.fates.pop(group.task).set_result(("dropped", reason))

    async def follow(self, rank: int) -> None:
        """Take a worker's results; when it dies, give up its sessions and go on with the others."""
        try:
            while True:
                result: Rollout | Failure = await self.workers[rank].receive()
                self.busy[rank].discard(result.session)
                self.waiting.pop(result.session).set_result(result)
                self.assign()
        except Closed:
            lost = self.busy.pop(rank)
        insight.log("error", "a worker is gone", worker=rank, sessions=len(lost))
        for session in lost:
            insight.finish_session(session, "failed", reason=f"worker-{rank} is gone")
            self.waiting.pop(session).set_result(Failure(session, "worker is gone"))
        if not self.busy:
            self.fail("all workers are gone")

    async def feed(self, trainer: Channel) -> None:
        """Answer the trainer's requests for batches."""
        try:
            while True:
                message: BatchRequest | Summary = await trainer.receive()
                if isinstance(message, Summary):
                    self.over.set_result(message)
                    return
                self.version = message.version
                insight.set_step(message.step)
                trainer.send(await self.next_batch(message.step))
        except Closed:
            self.fail("the trainer is gone")

    async def next_batch(self, step: int) -> list[Group]:
        while True:
            self.arrived.clear()
            groups = self.replay.take(self.options.batch, self.version)
            if groups is not None:
                break
            await self.arrived.wait()
        for group in groups:
            self.fates.pop(group.task).set_result(("accepted", None))
        if step % 5 == 0 or step == self.options.steps:
            rewards = [rollout.reward for group in groups for rollout in group.rollouts]
            print(f"step {step}/{self.options.steps}  reward {sum(rewards) / len(rewards):.3f}", flush=True)
        return groups

    async def watch_reward(self, reward: Channel) -> None:
        try:
            await reward.receive()
        except Closed:
            self.fail("the reward process is gone")

    def fail(self, why: str) -> None:
        if not self.over.done():
            insight.log("error", why)
            self.over.set_exception(RunFailed(why))
