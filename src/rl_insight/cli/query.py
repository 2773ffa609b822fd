"""`rl-insight query`: read the store with SQL."""

from __future__ import annotations

import csv
import enum
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rl_insight.cli.options import DataDir, Url, resolve
from rl_insight.cli.trouble import Trouble, note

if TYPE_CHECKING:
    from rl_insight.store import Table


class Format(str, enum.Enum):
    """How rows are printed."""

    table = "table"
    json = "json"
    csv = "csv"


def query(
    sql: Annotated[str, typer.Argument(help="A SELECT, DESCRIBE, SHOW or EXPLAIN; '-' reads it from stdin.")],
    output: Annotated[Format, typer.Option("--format", "-f", help="How to print the rows.")] = Format.table,
    limit: Annotated[int, typer.Option(help="At most so many rows.", min=1, max=1_000_000)] = 10_000,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Read the store with SQL, beside a running server or without one.

    Tables: process, span, open_span, point, log, fact, fact_tag, lost. 'SHOW TABLES' and 'DESCRIBE span' tell more.
    """
    from rl_insight.cli.reader import reading
    from rl_insight.read.rows import Refused, ask

    if sql == "-":
        sql = sys.stdin.read()
    with reading(resolve(data_dir), url) as store:
        try:
            table = ask(store, sql, None, limit)
        except Refused as error:
            raise Trouble(str(error)) from None
    show(table, output)
    if table.truncated:
        note(f"only the first {len(table.rows):,} rows are shown; raise --limit, or let the SQL choose")


def show(table: Table, output: Format) -> None:
    """Print a table to stdout."""
    if output is Format.json:
        rows = [dict(zip(table.columns, map(_cell, row), strict=True)) for row in table.rows]
        print(json.dumps(rows, indent=1, ensure_ascii=False, default=str))
    elif output is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(table.rows)
    else:
        _show_table(table)


def _cell(value: Any) -> Any:
    # JSON knows no NaN.
    return None if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))) else value


_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL")


def _show_table(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for column, kind in zip(table.columns, table.types, strict=True):
        grid.add_column(
            Text(column), justify="right" if any(n in str(kind) for n in _NUMBERS) else "left", overflow="fold"
        )
    for row in table.rows:
        grid.add_row(*(Text("–", style="dim") if value is None else Text(str(value)) for value in row))
    Console().print(grid)
    if not table.rows:
        note("no rows")
