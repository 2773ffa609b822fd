"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rl_insight import config

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="The collector's data folder.",
        envvar="RL_INSIGHT_DATA_DIR",
        show_default="~/.rl-insight/data",
        file_okay=False,
    ),
]
Url = Annotated[
    str | None,
    typer.Option(
        "--url", help="Ask this server, instead of the one of the data folder. RL_INSIGHT_TOKEN is its token."
    ),
]


def resolve(given: Path | None) -> Path:
    """The data folder a command works on, as an absolute path."""
    return (given.expanduser() if given is not None else config.data_dir(None)).absolute()
