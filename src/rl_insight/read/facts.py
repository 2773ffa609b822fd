"""What happened, and to which piece of data? The facts of a run, searched by name and tag."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rl_insight.read.about import about
from rl_insight.read.compose import records, structs
from rl_insight.read.rows import Rows
from rl_insight.read.search import BadSearch, Conditions, words
from rl_insight.read.timeline import window

MOST = 1000

# Fields of the fact; every other key is a tag.
_PREFIX = {"name": "name", "process": "worker", "worker": "worker", "peer": "peer", "op": "op", "proc": "proc"}
_EQUAL = {"outcome": "outcome", "level": "level"}


class Fact(msgspec.Struct):
    """A fact, as recorded; `worker` is role and rank of the process."""

    proc: str
    seq: int
    at: float
    name: str
    worker: str | None
    tags: msgspec.Raw
    op: str | None
    attempt: int | None
    peer: str | None
    outcome: str | None
    reason: str | None
    task: str | None
    session: str | None
    step: int | None
    attrs: msgspec.Raw


class Facts(msgspec.Struct):
    """A page of facts, and how many match in all."""

    run: str
    at: float
    total: int
    offset: int
    facts: list[Fact]


class FactName(msgspec.Struct):
    """What facts of one name there are."""

    name: str
    n: int
    bad: int
    first: float
    last: float


class FactTag(msgspec.Struct):
    """A tag and about how many values it has."""

    tag: str
    n: int
    values: int


class Vocabulary(msgspec.Struct):
    """The names and tags that a run's facts use."""

    run: str
    names: list[FactName]
    tags: list[FactTag]


def facts(
    source: Rows,
    run: str,
    query: str = "",
    *,
    since: float | None = None,
    until: float | None = None,
    limit: int = 200,
    offset: int = 0,
    oldest_first: bool = False,
) -> Facts:
    """The facts that match a search, a page of them."""
    looked = about(source, run)
    begin, end = window(looked, since, until)
    conditions = parse(query)
    asked: dict[str, Any] = {
        **looked.params,
        **conditions.params,
        "from": begin,
        "to": end,
        "limit": max(1, min(limit, MOST)),
        "offset": max(0, offset),
    }
    fills = {"conditions": " ".join(conditions.early), "order": "ASC" if oldest_first else "DESC"}
    rows = records(source, "facts", asked, fills)
    total = rows[0]["total"] if rows else 0
    return Facts(looked.run, looked.at_ms, total, offset, [_fact(row) for row in rows])


def vocabulary(source: Rows, run: str, since: float | None = None, until: float | None = None) -> Vocabulary:
    """Which names and tags there are to search for."""
    looked = about(source, run)
    begin, end = window(looked, since, until)
    asked = {**looked.params, "from": begin, "to": end}
    return Vocabulary(
        looked.run, structs(source, "fact_names", FactName, asked), structs(source, "fact_tags", FactTag, asked)
    )


def parse(query: str) -> Conditions:
    """`weights. verb:sent weights:12 process:rollout-1 outcome:error step:3..5 -peer:trainer`: all must match."""
    found = Conditions()
    for negated, key, operator, value in words(query, r"[\w.-]"):
        one = Conditions(params=found.params)
        _condition(one, key, operator, value)
        found.early.extend(
            condition if not negated else f"AND NOT {condition.removeprefix('AND ')}" for condition in one.early
        )
    return found


def _condition(one: Conditions, key: str | None, operator: str | None, value: str) -> None:
    if key is None:
        one.add("starts_with(name, ?)", value)
    elif key == "step":
        _step(one, operator or ":", value)
    elif operator not in (":", "="):
        raise BadSearch(f"{key}{operator} compares, which only step can; write {key}:{value}")
    elif key in _PREFIX:
        one.add(f"starts_with(coalesce({_PREFIX[key]}, ''), ?)", value)
    elif key in _EQUAL:
        one.add(f"coalesce({_EQUAL[key]}, '') IN (SELECT unnest(?::VARCHAR[]))", value.split(","))
    elif key == "group":
        one.add("starts_with(name, ? || '.')", value)
    elif key == "verb":
        one.add("ends_with(name, '.' || ?)", value)
    elif key == "reason":
        one.add("contains(lower(coalesce(reason, '')), lower(?))" if value != "*" else "reason IS NOT NULL", value)
    else:
        # A tag, or what the fact inherited from the task it was recorded in.
        inherited = f" OR {key} = ?" if key in ("task", "session") else ""
        one.params["tag_" + str(len(one.params))] = f'$."{key}"'
        path = "$" + list(one.params)[-1]
        test = f"tags ->> {path} IS NOT NULL" if value == "*" else f"tags ->> {path} = ?"
        one.add(f"coalesce({test}, false){inherited}", value)


def _step(one: Conditions, operator: str, value: str) -> None:
    match = re.fullmatch(r"(-?\d+)(?:\.\.(-?\d+))?", value)
    if match is None:
        raise BadSearch(f"step:{value} is no step; write step:12 or step:10..20")
    low, high = int(match[1]), int(match[2] or match[1])
    if match[2] or operator in (":", "="):
        one.add("step >= ?", low)
        one.add("step <= ?", high)
    else:
        one.add(f"step {operator} ?", low)


def _fact(row: dict[str, Any]) -> Fact:
    raw = {key: msgspec.Raw((row[key] or "{}").encode()) for key in ("tags", "attrs")}
    row.pop("total")
    return Fact(**{**row, **raw})
