"""What a read model reads from: the store itself, or a server that answers queries on it."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import duckdb
import msgspec

from rl_insight.store import NotReadOnly, Table
from rl_insight.store.sql import load

T = TypeVar("T", bound=msgspec.Struct)


class Rows(Protocol):
    """Answers SQL with rows."""

    def rows(self, sql: str, params: Any = None, limit: int | None = None, timeout: float | None = None) -> Table: ...


class Refused(ValueError):
    """A query that cannot be answered, and why."""


def ask(source: Rows, sql: str, params: Any = None, limit: int | None = None, timeout: float | None = None) -> Table:
    """Answer somebody's own SQL; what is wrong with it is told in one sentence."""
    try:
        return source.rows(sql, params, limit, timeout)
    except (NotReadOnly, TimeoutError) as error:
        raise Refused(str(error)) from None
    except (duckdb.Error, ValueError, TypeError, RuntimeError) as error:
        raise Refused(str(error).strip().partition("\n\nStack Trace")[0] or type(error).__name__) from None


def question(name: str) -> str:
    """The SQL in `read/<name>.sql`."""
    return load(name, "rl_insight.read", "")


def answers(source: Rows, name: str, into: type[T], params: dict[str, Any] | None = None) -> list[T]:
    """Ask the question in `<name>.sql` and return its rows as structs, matched by column name."""
    table = source.rows(question(name), params)
    return [msgspec.convert(dict(zip(table.columns, row, strict=True)), into) for row in table.rows]
