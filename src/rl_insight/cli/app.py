"""The command line's table of contents."""

from __future__ import annotations

from typing import Annotated

import typer

from rl_insight.cli.dashboards import dashboards_app
from rl_insight.cli.demo import demo
from rl_insight.cli.doctor import doctor
from rl_insight.cli.hotspots import hotspots
from rl_insight.cli.open import open_folder
from rl_insight.cli.query import query
from rl_insight.cli.rebuild import rebuild
from rl_insight.cli.runs import runs_app
from rl_insight.cli.schema import schema
from rl_insight.cli.server import server_app
from rl_insight.cli.sessions import session, sessions
from rl_insight.cli.stack import stack_app
from rl_insight.cli.steps import steps
from rl_insight.cli.tail import tail
from rl_insight.cli.targets import targets_app
from rl_insight.cli.top import top
from rl_insight.cli.verify import verify

app = typer.Typer(
    name="rl-insight",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from rl_insight.version import __version__

        print(f"rl-insight {__version__}")
        raise typer.Exit


@app.callback()
def rl_insight(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """See what a distributed RL training run is doing, live, and look at it again afterwards."""


app.add_typer(server_app, name="server")
app.add_typer(stack_app, name="stack")
app.add_typer(dashboards_app, name="dashboards")
app.command("open")(open_folder)
app.command()(query)
app.command()(tail)
app.add_typer(runs_app, name="runs")
app.add_typer(targets_app, name="targets")
app.command()(top)
app.command()(steps)
app.command()(sessions)
app.command()(session)
app.command()(hotspots)
app.command()(verify)
app.command()(rebuild)
app.command()(schema)
app.command()(doctor)
app.command()(demo)
