"""Listens to the questions that a read model asks, so that people can ask them again with their own tools."""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight.read.rows import Rows
from rl_insight.store import Table


class Question(msgspec.Struct):
    """SQL, and what its parameters stood for."""

    sql: str
    params: dict[str, Any]


class Listener:
    """Passes questions on to a source, and remembers them."""

    def __init__(self, source: Rows) -> None:
        self._source = source
        self.asked: list[Question] = []

    def rows(self, sql: str, params: Any = None, limit: int | None = None, timeout: float | None = None) -> Table:
        self.asked.append(Question(sql, dict(params or {})))
        return self._source.rows(sql, params, limit, timeout)
