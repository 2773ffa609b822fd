"""Answers as they would have been at a moment that has passed."""

from __future__ import annotations

import re
from typing import Any

from rl_insight.read.compose import part
from rl_insight.read.rows import Rows, question
from rl_insight.store import Table

_START = re.compile(r"((?:\s*--[^\n]*\n)*\s*)(WITH\s+RECURSIVE\b|WITH\b|)", re.IGNORECASE)


class AsOf:
    """Passes questions on to a source, about its tables as they were at `moment` (ns), which is `now` to them.

    No read model needs to know: in front of each question stand tables of the same names that lack what came later.
    """

    def __init__(self, source: Rows, moment: int) -> None:
        self._source = source
        self.moment = moment
        self._written: dict[str, list[Any]] | None = None

    def rows(self, sql: str, params: Any = None, limit: int | None = None, timeout: float | None = None) -> Table:
        if self._written is None:
            # All lines are looked at, so once for all questions.
            found = self._source.rows(question("written"), {"as_of": self.moment}).rows
            columns = ("written_procs", "written_lines", "written_ts")
            self._written = {name: [row[at] for row in found] for at, name in enumerate(columns)}
        given = {**(params or {}), **self._written, "as_of": self.moment}
        if "now" in given:
            given["now"] = self.moment
        return self._source.rows(as_of(sql), given, limit, timeout)


def as_of(sql: str) -> str:
    """The question with the tables of `parts/as_of.sql` in place of the store's."""
    said, start, rest = opening(sql)
    tables = part("as_of")
    return f"{said}{start}\n{tables},\n{rest}" if start else f"{said}WITH\n{tables}\n{rest}"


def opening(sql: str) -> tuple[str, str, str]:
    """A question taken apart: the comment it begins with, its WITH if it has one, and the rest."""
    start = _START.match(sql)
    assert start is not None  # It matches nothing, too.
    said, word = start.groups()
    return said, word, sql[start.end() :]
