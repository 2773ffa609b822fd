"""Which spans are meant: a step, all, or a selection of times, steps, processes, lanes and names."""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight.read.about import About
from rl_insight.read.compose import part
from rl_insight.read.rows import Rows
from rl_insight.read.search import BadSearch
from rl_insight.read.steps import latest, trainers

PARTS = ("state", "task", "session", "turn", "phase", "span")


class Selection(msgspec.Struct, kw_only=True):
    """What is asked for. Without steps and times it is the latest complete step; with `scope="all"` the whole run."""

    scope: str = "step"
    step: int | None = None
    from_step: int | None = None
    to_step: int | None = None
    since: float | None = None
    until: float | None = None
    role: str | None = None
    rank: int | None = None
    worker: str | None = None
    lane: str | None = None
    name: str | None = None
    exact: bool = False
    part: str | None = None


class Spans(msgspec.Struct, rename={"since": "from", "until": "to"}):
    """The scope as it was understood."""

    steps: tuple[int | None, int | None] | None
    since: float | None
    until: float | None


class Chosen(msgspec.Struct):
    """A selection as SQL."""

    spans: Spans
    where: str
    joined: str
    params: dict[str, Any]


def choose(source: Rows, this: About, asked: Selection) -> Chosen:
    """Turn a selection into conditions on `span`, joined with `worker` where that is needed."""
    if asked.scope not in ("step", "all"):
        raise BadSearch(f"scope is 'step' or 'all', not {asked.scope!r}")
    if asked.part is not None and asked.part not in PARTS:
        raise BadSearch(f"part is one of {', '.join(PARTS)}, not {asked.part!r}")
    low, high = asked.from_step, asked.to_step
    if asked.step is not None:
        low = high = asked.step
    selected = (low, high, asked.since, asked.until) != (None, None, None, None)
    if asked.scope == "step" and not selected:
        low = high = latest(source, this, trainers(source, this)).complete
    given: dict[str, tuple[str, Any]] = {
        "low": ("step >= $low", low),
        "high": ("step <= $high", high),
        "since": ("ts + dur > $since", None if asked.since is None else int(asked.since * 1e6)),
        "until": ("ts < $until", None if asked.until is None else int(asked.until * 1e6)),
        "role": ("worker.role = $role", asked.role),
        "rank": ("worker.rank = $rank", asked.rank),
        "worker": ("starts_with(worker.worker, $worker)", asked.worker),
        "lane": ("lane = $lane", asked.lane),
        "name": ("span.name = $name" if asked.exact else "starts_with(span.name, $name)", asked.name),
        "part": ("part IS NULL" if asked.part == "span" else "part = $part", asked.part),
    }
    used = {key: (condition, value) for key, (condition, value) in given.items() if value is not None}
    joined = "JOIN worker USING (proc)" if used.keys() & {"role", "rank", "worker"} else ""
    steps = None if low is None and high is None else (low, high)
    return Chosen(
        Spans(steps, asked.since, asked.until),
        " ".join(f"AND {condition}" for condition, _ in used.values()),
        joined,
        {key: value for key, (_, value) in used.items()},
    )


def pooled(sample: int, attributes: str = "") -> dict[str, str]:
    """Fills that read all spans, or all spans of one in `sample` traces."""
    if sample <= 1:
        return {"pool": "", "from": "span"}
    return {"pool": part("trace_pool").replace("/*attributes*/", attributes), "from": "pool AS span"}
