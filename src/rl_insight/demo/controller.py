"""The controller: hands tasks out to workers, gathers groups, and feeds the trainer from the replay queue."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import Any, TypeGuard

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
        self.pending: deque[Work] = deque()
        self.changed = asyncio.Event()  # there is more to hand out, or somebody to hand it to
        self.complete: asyncio.Queue[Group] = asyncio.Queue()
        self.arrived = asyncio.Event()  # the replay queue has got something
        self.workers: dict[int, Channel] = {}
        self.busy: dict[int, dict[str, Work]] = {}
        self.waiting: dict[str, asyncio.Future[Rollout | Failure]] = {}
        self.fates: dict[str, asyncio.Future[tuple[str, str | None]]] = {}
        self.running: set[asyncio.Task[None]] = set()
        self.over: asyncio.Future[Summary] = asyncio.get_running_loop().create_future()

    async def run(self, workers: list[Pipe], trainer: Pipe, reward: Pipe) -> Summary:
        """Run until the trainer has done its steps. Cancelling this cancels the tasks in flight."""
        self.workers = {rank: Channel(pipe) for rank, pipe in enumerate(workers)}
        self.busy = {rank: {} for rank in self.workers}
        jobs = [self.follow(rank) for rank in self.workers]
        jobs += [self.feed(Channel(trainer)), self.watch_reward(Channel(reward))]
        jobs += [self.submit_tasks(), self.assign(), self.fill_replay()]
        for job in jobs:
            self.start(job)
        try:
            return await self.over
        finally:
            running = list(self.running)
            for task in running:
                task.cancel("the run is over")
            await asyncio.gather(*running, return_exceptions=True)

    def start(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(job)
        self.running.add(task)
        task.add_done_callback(self.ended)

    def ended(self, task: asyncio.Task[None]) -> None:
        self.running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self.over.done():
            self.over.set_exception(error)

    async def submit_tasks(self) -> None:
        rng = random.Random(self.options.seed)
        # A little more work than fits into the slots, so that none is idle; more would only grow stale.
        room = asyncio.Semaphore(self.options.workers * self.options.slots // self.options.group + 2)
        for number in itertools.count(1):
            await room.acquire()
            self.start(self.run_task(f"task-{number}", make_puzzle(rng), room))

    async def run_task(self, name: str, puzzle: Puzzle, room: asyncio.Semaphore) -> None:
        """One task from its submission until its samples are trained on or given up."""
        with insight.task(name, prompt=str(puzzle), operations=len(puzzle.operations)) as task:
            # The carrier goes with the work: it says which task and trace it belongs to and when it was submitted.
            results = await asyncio.gather(*self.submit(name, puzzle, insight.submit(name)))
            room.release()
            group = Group(name, [result for result in results if self.is_fresh(result, name)])
            # An advantage is relative to the group, so a single sample has none.
            if len(group.rollouts) < 2:
                task.finish("rejected", reason="fewer than two samples are left")
                return
            fate = self.fates[name] = asyncio.get_running_loop().create_future()
            self.complete.put_nowait(group)
            status, reason = await fate
            # Sessions of which nobody has said otherwise end as their task does.
            task.finish(status, reason=reason)

    def submit(self, name: str, puzzle: Puzzle, carrier: Mapping[str, str]) -> list[asyncio.Future[Rollout | Failure]]:
        """Queue the sessions of a task; each future is its result."""
        results = []
        for number in range(self.options.group):
            work = Work(f"{name}.{number}", name, puzzle, carrier)
            result = self.waiting[work.session] = asyncio.get_running_loop().create_future()
            results.append(result)
            self.pending.append(work)
        self.changed.set()
        return results

    # What is recorded inside `with insight.task(...)` belongs to that task. Handing out and queueing deal with the
    # tasks of others too, so they run beside the tasks, not inside them, and name what they are about in tags.

    async def assign(self) -> None:
        """Give pending sessions to the workers with the most free slots."""
        while True:
            await self.changed.wait()
            self.changed.clear()
            while self.pending and self.busy:
                rank = min(self.busy, key=lambda rank: len(self.busy[rank]))
                if len(self.busy[rank]) >= self.options.slots:
                    break
                work = self.pending.popleft()
                self.busy[rank][work.session] = work
                tags = {"task": work.task, "session": work.session}
                insight.fact("task.item.assigned", tags=tags, peer=f"rollout-{rank}")
                self.workers[rank].send(work)
            insight.metric_gauge("queue_depth", len(self.pending), queue="sessions")

    async def fill_replay(self) -> None:
        while True:
            self.replay.put(await self.complete.get())
            self.arrived.set()

    def is_fresh(self, result: Rollout | Failure, task: str) -> TypeGuard[Rollout]:
        if isinstance(result, Failure):
            return False
        staleness = self.version - result.weights
        if staleness > self.options.staleness:
            insight.finish_session(result.session, "rejected", reason="too stale", task_id=task, staleness=staleness)
            return False
        return True

    def evicted(self, group: Group, reason: str) -> None:
        self.fates.pop(group.task).set_result(("dropped", reason))

    async def follow(self, rank: int) -> None:
        """Take a worker's results; when it dies, give up its sessions and go on with the others."""
        try:
            while True:
                result: Rollout | Failure = await self.workers[rank].receive()
                del self.busy[rank][result.session]
                self.waiting.pop(result.session).set_result(result)
                self.changed.set()
        except Closed:
            lost = self.busy.pop(rank)
        insight.log("error", "a worker is gone", worker=rank, sessions=len(lost))
        for work in lost.values():
            reason = f"worker-{rank} is gone"
            insight.finish_session(work.session, "failed", reason=reason, task_id=work.task)
            self.waiting.pop(work.session).set_result(Failure(work.session, reason))
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
