"""The trainer: takes batches, improves the weights, and sends every new version to the workers."""

from __future__ import annotations

import math
import random
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import rl_insight as insight
from rl_insight.demo.channel import Pipe
from rl_insight.demo.messages import BatchRequest, Group, NewWeights, Summary
from rl_insight.demo.options import Options
from rl_insight.demo.policy import Adam, Forward, Tokens, backward, forward, solve, start_weights
from rl_insight.demo.puzzle import make_puzzle

LANE = "trainer"
MICRO_BATCHES = 4
EVALUATION_PUZZLES = 50


def main(options: Options, controller: Pipe, workers: list[Pipe]) -> None:
    """The process: trains until it has done its steps or the controller closes its pipe."""
    insight.init(role="trainer", rank=0)
    try:
        Trainer(options, controller, workers).run()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        insight.log("info", "the controller is gone; training ends")
    finally:
        insight.close()


class Trainer:
    """Weights, optimizer, and the pipes to those who wait for both."""

    def __init__(self, options: Options, controller: Pipe, workers: list[Pipe]) -> None:
        self.options = options
        self.controller = controller
        self.workers: dict[int, Connection] = dict(enumerate(workers))
        self.weights = start_weights(options.seed)
        self.optimizer = Adam(self.weights, options.learning_rate)
        self.version = 0
        self.evaluation = 0.0
        self.checkpoint = ""
        self.tokens = 0
        self.rewards: list[float] = []

    def run(self) -> None:
        insight.metric_gauge("total_steps", self.options.steps)
        for step in range(1, self.options.steps + 1):
            insight.set_step(step)  # everything this process records from here on belongs to the step
            started = time.monotonic()
            groups = self.wait_for_batch(step)
            waited = time.monotonic() - started
            with (
                insight.trace_state("train", state_lane_id=LANE),
                insight.operation("train.step", tags={"step": str(step), "batch": f"batch-{step}"}) as operation,
            ):
                loss = self.train(step, groups)
                if not math.isfinite(loss):
                    operation.fail(f"loss is {loss}")
            self.send_weights()
            if step % self.options.evaluate_every == 0 or step == self.options.steps:
                self.evaluate()
            if step % self.options.checkpoint_every == 0 or step == self.options.steps:
                self.save(step)
            seconds = time.monotonic() - started
            insight.metric_gauge("step_seconds", seconds)
            insight.metric_gauge("trainer_wait_ratio", waited / seconds)
        few = max(1, min(5, len(self.rewards) // 4))
        first, last = float(np.mean(self.rewards[:few])), float(np.mean(self.rewards[-few:]))
        self.controller.send(Summary(self.options.steps, first, last, self.evaluation, self.tokens, self.checkpoint))

    def wait_for_batch(self, step: int) -> list[Group]:
        with insight.trace_state("wait_batch", state_lane_id=LANE):
            self.controller.send(BatchRequest(self.version, step))
            groups: list[Group] = self.controller.recv()
        for group in groups:
            tags = {"task": group.task, "queue": "replay", "batch": f"batch-{step}"}
            insight.fact("queue.sample.taken", tags=tags)
        return groups

    @insight.trace_op("train_step")
    def train(self, step: int, groups: list[Group]) -> float:
        with insight.trace_span("prepare"):
            tokens = self.prepare(groups)
            if self.options.has("nan-loss", step):
                tokens.advantage[:] = np.nan
            self.options.wait(0.02)
        order = np.random.default_rng((self.options.seed, step)).permutation(len(tokens.chosen))
        for number, part in enumerate(np.array_split(order, MICRO_BATCHES)):
            with insight.trace_span("micro_batch", attributes={"number": number, "tokens": len(part)}):
                seen = self.learn(tokens.part(part))
        if self.options.has("leaking-queue", step):
            self.options.wait(4.0)
        self.version += 1
        self.tokens += len(tokens.chosen)
        insight.metric_count("trained_tokens", len(tokens.chosen))
        return seen.loss

    def prepare(self, groups: list[Group]) -> Tokens:
        """Tokens of all sessions, each with its session's reward relative to the other sessions of the task."""
        advantages, flat = [], 0
        for group in groups:
            rewards = np.array([rollout.reward for rollout in group.rollouts])
            flat += bool(np.ptp(rewards) < 1e-9)
            relative = (rewards - rewards.mean()) / (rewards.std() + 0.05)
            for rollout, advantage in zip(group.rollouts, relative, strict=True):
                advantages.append(np.full(len(rollout.chosen), advantage, dtype=np.float32))
                insight.metric_distribution("staleness", self.version - rollout.weights)
        rollouts = [rollout for group in groups for rollout in group.rollouts]
        rewards = np.array([rollout.reward for rollout in rollouts])
        self.rewards.append(float(rewards.mean()))
        insight.metric_gauge("reward_mean", float(rewards.mean()))
        insight.metric_gauge("reward_std", float(rewards.std()))
        insight.metric_gauge("solved_rate", float(np.mean([rollout.solved for rollout in rollouts])))
        insight.metric_gauge("zero_spread_groups", flat / len(groups))
        insight.metric_gauge("tokens_per_session", float(np.mean([len(rollout.chosen) for rollout in rollouts])))
        return Tokens(
            np.concatenate([rollout.seen for rollout in rollouts]),
            np.concatenate([rollout.chosen for rollout in rollouts]),
            np.concatenate([rollout.log_probability for rollout in rollouts]),
            np.concatenate(advantages),
        )

    def learn(self, tokens: Tokens) -> Forward:
        with insight.trace_span("forward"):
            seen = forward(self.weights, tokens)
            self.options.wait(0.02)
        with insight.trace_span("backward"):
            gradients = backward(self.weights, seen)
            self.options.wait(0.035)
        with insight.trace_span("optimizer"):
            norm = math.nan
            # A loss that is not a number would ruin the weights for good, so such an update is left out.
            if math.isfinite(seen.loss):
                self.weights, norm = self.optimizer.step(self.weights, gradients)
            else:
                insight.metric_count("skipped_updates", 1, why="loss is not finite")
                insight.log("error", "loss is not finite; the update is left out", loss=str(seen.loss))
            self.options.wait(0.01)
        insight.metric_gauge("loss", seen.loss)
        insight.metric_gauge("grad_norm", norm)
        insight.metric_gauge("entropy", seen.entropy)
        insight.metric_gauge("kl", seen.kl)
        insight.metric_gauge("clip_fraction", seen.clipped)
        return seen

    def send_weights(self) -> None:
        tags = {"weights": str(self.version)}
        with (
            insight.trace_state("sync_weights", state_lane_id=LANE),
            insight.operation("weights.sync", tags=tags),
        ):
            for rank, worker in list(self.workers.items()):
                self.options.wait(0.01)
                try:
                    worker.send(NewWeights(self.version, self.weights))
                except OSError:
                    del self.workers[rank]
                    insight.log("warning", "worker is gone; it gets no more weights", worker=rank)
                else:
                    insight.fact("weights.version.sent", tags=tags, peer=f"rollout-{rank}")

    def evaluate(self) -> None:
        """Share of held-out puzzles that the likeliest tokens solve."""
        rng = random.Random("held out")
        puzzles = [make_puzzle(rng) for _ in range(EVALUATION_PUZZLES)]
        with insight.trace_state("evaluate", state_lane_id=LANE), insight.trace_span("evaluate"):
            self.evaluation = float(np.mean([solve(self.weights, puzzle).solved for puzzle in puzzles]))
            self.options.wait(0.2)
        insight.metric_gauge("eval_solved_rate", self.evaluation)

    def save(self, step: int) -> None:
        path = (self.options.checkpoints or Path()) / f"step-{step:05d}.npz"
        tags = {"ckpt": path.name, "weights": str(self.version)}
        with insight.trace_state("checkpoint", state_lane_id=LANE), insight.operation("ckpt.file", tags=tags) as op:
            np.savez(path, **self.weights)  # type: ignore[arg-type]
            self.options.wait(0.1)
            op.set(bytes=path.stat().st_size)
        self.checkpoint = str(path)
        insight.log("info", "checkpoint written", path=str(path), step=step)
