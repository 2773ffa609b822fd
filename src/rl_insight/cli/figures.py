"""What the tables of a run share: how a run is opened, and how figures are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rl_insight.cli.options import resolve
from rl_insight.cli.trouble import Trouble

if TYPE_CHECKING:
    from rich.table import Table

    from rl_insight.read.rows import Rows

Run = Annotated[str, typer.Option("--run", help="The run; 'latest' is the one heard from last.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, as the API answers.")]

COLOURS = {
    "accepted": "green",
    "rejected": "yellow",
    "dropped": "yellow",
    "failed": "red",
    "lost": "red",
    "cancelled": "dim",
    "running": "cyan",
}


@contextmanager
def asking(data_dir: Path | None, url: str | None) -> Iterator[Rows]:
    """Something to ask; what is wrong with a question is told in a sentence."""
    from rl_insight.cli.reader import reading
    from rl_insight.read.about import NoSuchRun
    from rl_insight.read.search import BadSearch
    from rl_insight.read.session import NoSuchSession

    with reading(resolve(data_dir), url) as source:
        try:
            yield source
        except NoSuchRun as missing:
            raise Trouble(str(missing), "'rl-insight runs' lists the runs") from None
        except NoSuchSession as missing:
            raise Trouble(str(missing), "'rl-insight sessions' lists them") from None
        except BadSearch as bad:
            raise Trouble(str(bad), code=2) from None


def print_json(answer: Any) -> None:
    """Print an answer as the API would give it."""
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(answer), indent=1).decode())


def grid(*columns: str) -> Table:
    """A table; columns whose name starts with `>` hold figures."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    return table


def seconds(value: float | None) -> str:
    """A duration with as many digits as mean something."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if value < 0.001:
        return f"{value * 1e6:.0f} µs"
    if value < 1:
        return f"{value * 1e3:.3g} ms" if value < 0.9995 else "1 s"
    if value < 120:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, rest = divmod(int(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def figure(value: float | None, digits: int = 3) -> str:
    """A number, whole ones without a point."""
    if value is None:
        return "–"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"


def word(value: Any, style: str = "") -> Any:
    """A cell with text from a run: shown as it is, whatever it holds."""
    from rich.text import Text

    return Text("–" if value is None or value == "" else str(value), style=style)
