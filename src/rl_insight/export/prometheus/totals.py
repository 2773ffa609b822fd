"""What has been recorded in one run, added up; fed with rows of the store, each of them once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from rl_insight.export.metric_names import NODES
from rl_insight.export.prometheus.names import Recorded
from rl_insight.export.prometheus.series import Example, Histogram, Last, Series, Sum

Labels: TypeAlias = tuple[tuple[str, str], ...]
# Of a metric that people record: who recorded it, and with which labels.
Key: TypeAlias = tuple[str, Labels]

_SAMPLED = {own.name.removeprefix("rl_insight_"): own.name for own in NODES}
_STEPS = 3
_MOST_TASKS = 50_000


class _Task:
    """Sessions of a task: how many are over, of how many it was said how, and how many went the way of the task."""

    __slots__ = ("by", "counted", "ended", "said")

    def __init__(self) -> None:
        self.ended = self.said = self.counted = 0
        self.by: tuple[str, str] | None = None


class Bounds(NamedTuple):
    """Upper bounds of buckets: of a recorded metric, of intervals, of sessions and of phases."""

    of: Callable[[str], tuple[float, ...]]
    spans: tuple[float, ...]
    sessions: tuple[float, ...]
    phases: tuple[float, ...]


class Totals:
    """The totals of one run. Nothing in it grows beyond the limits, whatever is recorded."""

    def __init__(self, bounds: Bounds, most_series: int, most_metrics: int) -> None:
        self._bounds = bounds
        self._most = most_series
        self._most_metrics = most_metrics
        self.metrics: dict[Recorded, Series[Key, Any]] = {}
        # When each was first recorded: who came first keeps a name that two would have.
        self.first: dict[Recorded, int] = {}
        self.left_out: Series[Recorded, None] = Series(0, lambda: None)
        self.nodes: Series[tuple[str, str, str], Last] = Series(most_series, Last)
        self.spans: Series[tuple[str, str, str, str], Sum] = Series(most_series, Sum)
        self.span_seconds: Series[tuple[str, str], Histogram] = Series(
            most_series, lambda: Histogram(bounds.spans, 1e9)
        )
        # In nanoseconds.
        self.states: Series[tuple[str, str], Sum] = Series(most_series, Sum)
        self.sessions: Series[tuple[str, str], Sum] = Series(most_series, Sum)
        self.session_seconds: Series[str, Histogram] = Series(most_series, lambda: Histogram(bounds.sessions, 1e9))
        self.phase_seconds: Series[tuple[str, str], Histogram] = Series(
            most_series, lambda: Histogram(bounds.phases, 1e9)
        )
        self.tasks: set[str] = set()
        # What is told of one task may come from several processes, some of it late.
        self._tasks: dict[str, _Task] = {}
        self.queues: Series[str, Sum] = Series(most_series, Sum)
        # Of each process the newest steps, and when each began (ns, by its clock).
        self.steps: dict[str, dict[int, int]] = {}
        # A counter that holds time still running must not go back when its clock is put right.
        self.state_peaks: dict[tuple[str, str], float] = {}

    def add(
        self,
        points: list[tuple[Any, ...]],
        samples: list[tuple[Any, ...]],
        spans: list[tuple[Any, ...]],
        facts: list[tuple[Any, ...]],
        tasks: list[tuple[Any, ...]],
        steps: list[tuple[Any, ...]],
    ) -> None:
        """Rows of the queries of these names, without the run."""
        self.meet(points, samples)
        self.add_points(points)
        self.add_samples(samples)
        self.add_spans(spans)
        self.add_facts(facts)
        self.add_tasks(tasks)
        self.add_steps(steps)

    def meet(self, points: Iterable[tuple[Any, ...]], samples: Iterable[tuple[Any, ...]]) -> None:
        """Take note of metrics that are new, in the order in which they were first recorded."""
        found = [(row[-1], Recorded(row[3], row[2], row[0])) for row in points if not _is_of_node(row)]
        found += [(row[-1], Recorded(row[2], "sample", row[0])) for row in samples]
        for first, recorded in sorted(found):
            if recorded not in self.metrics:
                self._meet(recorded, first)

    def add_points(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows of `points.sql`, without the run."""
        means: dict[Recorded, list[tuple[float, int, int]]] = {}
        for engine, proc, kind, name, labels, whole, fraction, large, latest, ts, series, _ in rows:
            items = labels_of(labels) if labels is not None else ()
            if _is_of_node((engine, proc, kind, name, labels)):
                said = dict(items)
                self.nodes.at((_SAMPLED[name], said["node"], said.get("gpu", ""))).set(ts, latest)
                continue
            recorded = Recorded(name, kind, engine)
            held = self.metrics.get(recorded)
            if held is None:
                continue
            key = self._key(held, proc, items, series)
            if kind == "count":
                held.at(key).add(whole, fraction, large)
            elif key is not None:
                held.at(key).set(ts, latest)
            else:
                means.setdefault(recorded, []).append((latest, series, ts))
        for recorded, found in means.items():
            # Which of the folded ones was set last tells nothing; their mean does.
            mean = sum(latest * series for latest, series, _ in found) / sum(series for _, series, _ in found)
            self.metrics[recorded].at(None).set(max(ts for _, _, ts in found), mean)

    def add_samples(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows of `samples.sql`, without the run."""
        for engine, proc, name, labels, bucket, count, whole, fraction, large, series, _ in rows:
            held = self.metrics.get(Recorded(name, "sample", engine))
            if held is not None:
                items = labels_of(labels) if labels is not None else ()
                histogram = held.at(self._key(held, proc, items, series))
                histogram.counts[bucket] += count
                histogram.total.add(whole, fraction, large)

    def add_spans(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows of `spans.sql`, without the run."""
        for proc, name, part, status, bucket, own_bucket, count, dur, example, series in rows:
            if name is None:
                self.spans.fold(series)
                self.span_seconds.fold(series)
            self.spans.at(None if name is None else (proc, name, part, status)).add(count)
            histogram = self.span_seconds.at(None if name is None else (name, part))
            histogram.counts[bucket] += count
            histogram.total.add(dur)
            if example is not None:
                histogram.examples[bucket] = Example(example["trace"], example["dur"] / 1e9, example["ts"] / 1e9)
            if part == "state":
                self.states.at(None if name is None else (proc, name)).add(dur)
            elif part in ("session", "phase"):
                if part == "session":
                    histogram = self.session_seconds.at(proc)
                else:
                    histogram = self.phase_seconds.at(None if name is None else (proc, name))
                histogram.counts[own_bucket] += count
                histogram.total.add(dur)
            elif part == "task":
                self.tasks.add(proc)

    def add_facts(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows of `facts.sql`, without the run."""
        for proc, status, queue, count, change in rows:
            if status is not None:
                self.sessions.at((proc, status)).add(count)
            if queue is not None:
                self.queues.at(queue).add(change)

    def add_tasks(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows of `tasks.sql`, without the run: how a task ended, its sessions did of which nobody said otherwise."""
        for task, ended, said, status, proc in rows:
            known = self._tasks.pop(task, None) or _Task()
            self._tasks[task] = known  # the newest last
            known.ended += ended
            known.said += said
            if status is not None and known.by is None:
                known.by = (proc, status)
            left = known.ended - known.said - known.counted
            if known.by is not None and left > 0:
                self.sessions.at(known.by).add(left)
                known.counted += left
        while len(self._tasks) > _MOST_TASKS:
            del self._tasks[next(iter(self._tasks))]

    def add_steps(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows of `steps.sql`, without the run."""
        for proc, step, ts in rows:
            steps = self.steps.setdefault(proc, {})
            steps[step] = min(ts, steps.get(step, ts))
            if len(steps) > _STEPS:
                del steps[min(steps)]

    def folded(self) -> dict[Recorded | str, int]:
        """How many series of which metric are folded: of recorded ones, and of ours by name."""
        ours: dict[str, Series[Any, Any]] = {
            "rl_insight_spans_total": self.spans,
            "rl_insight_span_seconds": self.span_seconds,
            "rl_insight_lane_state_seconds_total": self.states,
            "rl_insight_sessions_total": self.sessions,
            "rl_insight_session_seconds": self.session_seconds,
            "rl_insight_phase_seconds": self.phase_seconds,
            "rl_insight_queue_depth": self.queues,
        }
        found: dict[Recorded | str, int] = {name: held.folded for name, held in ours.items() if held.folded}
        found.update({recorded: held.folded for recorded, held in self.metrics.items() if held.folded})
        return found

    def _meet(self, recorded: Recorded, first: int) -> None:
        if len(self.metrics) >= self._most_metrics:
            self.left_out.has_room(recorded)
            return
        new: Callable[[], Any] = Sum if recorded.kind == "count" else Last
        if recorded.kind == "sample":
            bounds = self._bounds.of(recorded.name)
            new = lambda: Histogram(bounds)  # noqa: E731
        self.metrics[recorded] = Series(self._most, new)
        self.first[recorded] = first

    def _key(self, held: Series[Key, Any], proc: str | None, labels: Labels, series: int) -> Key | None:
        """The key of a series; None for those that are folded."""
        if proc is None:
            held.fold(series)
            return None
        return (proc, labels) if held.has_room((proc, labels)) else None


def _is_of_node(row: tuple[Any, ...]) -> bool:
    """Whether the resource sampler has told of a machine, in a row of `points.sql`."""
    proc, kind, name, labels = row[1:5]
    return kind == "gauge" and name in _SAMPLED and proc is not None and "node" in dict(labels_of(labels))


@lru_cache(maxsize=10_000)
def labels_of(text: str) -> Labels:
    """Labels as they are stored, in an order of their own: one series may name them in any."""
    return tuple(sorted((str(key), str(value)) for key, value in json.loads(text).items()))
