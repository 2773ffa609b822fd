"""Answers with clocks put right: in views only, never in lines."""

from __future__ import annotations

from typing import Any

from rl_insight.read.as_of import AsOf, opening
from rl_insight.read.compose import part
from rl_insight.read.rows import Rows
from rl_insight.store import Table

# What was known of the clocks, before the tables of the same names stand in its way.
_CLOCK = "WITH clock AS MATERIALIZED (SELECT proc, clock_offset AS off FROM process WHERE clock_offset <> 0)"


class Corrected:
    """Passes questions on to a source, about its tables with the stamps of each process moved by its clock's offset.

    No read model needs to know: around each question stand tables of the same names.
    """

    def __init__(self, source: Rows) -> None:
        self._source = source
        # As of a moment the number of a row is a column of its own.
        self._rowid = "" if isinstance(source, AsOf) else ", span.rowid"

    def rows(self, sql: str, params: Any = None, limit: int | None = None, timeout: float | None = None) -> Table:
        return self._source.rows(corrected(sql, self._rowid), params, limit, timeout)


def corrected(sql: str, rowid: str = ", span.rowid") -> str:
    """The question with the tables of `parts/corrected.sql` in place of the source's."""
    said, start, rest = opening(sql)
    tables = part("corrected").replace("/*rowid*/", rowid)
    inner = f"{start}\n{tables},\n{rest}" if start else f"WITH\n{tables}\n{rest}"
    return f"{said}{_CLOCK}\nFROM (\n{inner.rstrip().removesuffix(';')}\n);\n"
