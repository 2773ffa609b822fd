"""The one search grammar, of the page, the API and the command line; it becomes SQL conditions with parameters.

`task:t-3 status:failed,dropped error:timeout worker:rollout-1 reward>0.5 -stage:tool word`: all must match; a bare
word is a prefix of an id. docs/api.md explains it to users.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

STATUSES = ("accepted", "rejected", "failed", "dropped", "cancelled", "running", "lost", "pending")

_WORD = r'(-?)(?:({key}+)(:|>=|<=|!=|>|<|=))?("(?:[^"\\]|\\.)*"|\S*)(?:\s+|$)'
# What a number is called in a search, and its column. Those in LATE are known only once the phases are added up.
NUMBERS = {
    "age": "age_s",
    "total": "total_s",
    "queue": "queue_s",
    "generate": "generate_s",
    "tool": "tool_s",
    "reward_time": "reward_s",
    "other": "other_s",
    "idle": "idle_s",
    "turns": "turns",
    "tokens": "tokens",
    "reward": "reward",
    "weights": "weights",
    "staleness": "staleness",
    "errors": "errors",
    "step": "coalesce(trained_step, step)",
}
LATE = {"queue", "generate", "tool", "reward_time", "other", "idle", "turns", "tokens", "errors"}
TASK_NUMBERS = {
    "reward": "reward",
    "sessions": "sessions",
    "spread": "spread",
    "total": "total_s",
    "step": NUMBERS["step"],
}


class BadSearch(ValueError):
    """A search that cannot be understood, and why."""


class Conditions(msgspec.Struct):
    """SQL conditions, each starting with AND, and their parameters. `late` ones need the sums of phases."""

    early: list[str] = []
    late: list[str] = []
    params: dict[str, Any] = {}

    def add(self, condition: str, value: Any = None, *, late: bool = False) -> None:
        """Add a condition; `?` in it stands for the value."""
        if "?" in condition:
            name = f"given_{len(self.params)}"
            self.params[name] = value
            condition = condition.replace("?", f"${name}")
        (self.late if late else self.early).append(f"AND ({condition})")


class Word(NamedTuple):
    """One word of a search: `-key:value`, or a bare one without key and operator."""

    negated: bool
    key: str | None
    operator: str | None
    value: str


def words(query: str, key: str = r"\w") -> Iterator[Word]:
    """The words of a search; `key` is what the keys of its words are made of."""
    pattern = re.compile(_WORD.replace("{key}", key))
    query = query.strip()
    at = 0
    while at < len(query):
        match = pattern.match(query, at)
        if match is None or match.end() == at:
            raise BadSearch(f"cannot read the search from {query[at:]!r} on; a quote may be missing")
        at = match.end()
        minus, name, operator, value = match.groups()
        if value.startswith('"'):
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        yield Word(bool(minus), name, operator, value)


def parse(query: str, numbers: dict[str, str] | None = None) -> Conditions:
    """Conditions on sessions (or, with `numbers`, on something else that has an id, a status and these numbers)."""
    numbers = NUMBERS if numbers is None else numbers
    late = LATE if numbers is NUMBERS else set()
    found = Conditions()
    for negated, field, operator, value in words(query):
        one = Conditions(params=found.params)
        if field is None:
            _bare(one, value, numbers is NUMBERS)
        elif operator is None or operator == ":":
            _field(one, field.lower(), value, numbers)
        else:
            _number(one, field.lower(), operator, value, numbers)
        for kept, new in ((found.early, one.early), (found.late, one.late)):
            kept += [f"AND NOT coalesce({text[4:]}, false)" if negated else text for text in new]
    if late:
        moved = [text for text in found.early if _mentions(text, late, numbers)]
        found.early = [text for text in found.early if text not in moved]
        found.late += moved
    return found


def _mentions(text: str, late: set[str], numbers: dict[str, str]) -> bool:
    return any(re.search(rf"\b{numbers[name]}\b", text) for name in late)


def _bare(found: Conditions, word: str, sessions: bool) -> None:
    if word:
        found.add("starts_with(session, ?) OR starts_with(task, ?)" if sessions else "starts_with(task, ?)", word)


def _field(found: Conditions, field: str, value: str, numbers: dict[str, str]) -> None:
    sessions = numbers is NUMBERS
    if field in ("task", "worker") or (field == "session" and sessions):
        found.add(f"starts_with({field}, ?)", value)
    elif field == "status":
        wanted = value.lower().split(",")
        unknown = [one for one in wanted if one not in STATUSES]
        if unknown:
            raise BadSearch(f"status {unknown[0]!r} is none of {', '.join(STATUSES)}")
        found.add("list_contains(?, status)", wanted)
    elif field == "stage" and sessions:
        found.add("stage = ?" if value != "*" else "stage IS NOT NULL", value)
    elif field == "error":
        columns = "coalesce(reason, '') || ' ' || coalesce(error, '')" if sessions else "coalesce(reason, '')"
        if value == "*":
            found.add(f"trim({columns}) <> ''")
        else:
            found.add(f"contains(lower({columns}), ?)", value.lower())
    elif field in numbers:
        low, dots, high = value.partition("..")
        if dots:
            if low:
                _number(found, field, ">=", low, numbers)
            if high:
                _number(found, field, "<=", high, numbers)
        else:
            _number(found, field, "=", value, numbers)
    else:
        known = ["task:", *(["session:", "stage:", "worker:"] if sessions else []), "step:", "status:", "error:"]
        raise BadSearch(f"{field!r} is nothing to search by; there are {' '.join(known)} and {' '.join(numbers)}")


def _number(found: Conditions, field: str, operator: str, value: str, numbers: dict[str, str]) -> None:
    if field not in numbers:
        raise BadSearch(f"{field!r} is not a number to compare with; there are {', '.join(numbers)}")
    try:
        number = float(value)
    except ValueError:
        raise BadSearch(f"{field}{operator}{value}: {value!r} is not a number") from None
    found.add(f"{numbers[field]} {operator} ?", number)
