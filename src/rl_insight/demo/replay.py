"""The replay queue: bounded, and it forgets what has grown too old to train on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import rl_insight as insight
from rl_insight.demo.messages import Group

Evicted = Callable[[Group, str], None]


class Replay:
    """Groups waiting for the trainer. `evicted(group, reason)` is called for each one that will never get there."""

    def __init__(self, capacity: int, staleness: int, evicted: Evicted) -> None:
        self.capacity = capacity
        self.staleness = staleness
        self.evicted = evicted
        self.groups: deque[Group] = deque()

    def put(self, group: Group) -> None:
        if len(self.groups) >= self.capacity:
            self._evict(self.groups.popleft(), "queue full")
        self.groups.append(group)
        insight.fact("queue.sample.put", tags={"task": group.task, "queue": "replay"}, depth=len(self.groups))
        insight.metric_gauge("queue_depth", len(self.groups), queue="replay")

    def take(self, count: int, version: int) -> list[Group] | None:
        """The oldest `count` groups that are fresh enough, or None when there are not that many yet."""
        for group in [group for group in self.groups if self.age(group, version) > self.staleness]:
            self.groups.remove(group)
            self._evict(group, "too stale")
        if len(self.groups) < count:
            return None
        # `taken` is recorded by the trainer when it has them: the time on the way is part of the story.
        taken = [self.groups.popleft() for _ in range(count)]
        insight.metric_gauge("queue_depth", len(self.groups), queue="replay")
        return taken

    @staticmethod
    def age(group: Group, version: int) -> int:
        return version - min(rollout.weights for rollout in group.rollouts)

    def _evict(self, group: Group, reason: str) -> None:
        insight.fact(
            "queue.sample.evicted",
            tags={"task": group.task, "queue": "replay"},
            reason=reason,
            depth=len(self.groups),
        )
        self.evicted(group, reason)
