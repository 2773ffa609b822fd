"""`rl-insight dashboards export|import`: the Grafana dashboards as files, or into a Grafana that runs elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rl_insight.cli.stack import split
from rl_insight.cli.trouble import Trouble, note

dashboards_app = typer.Typer(no_args_is_help=True, help="The Grafana dashboards: to files, or into a running Grafana.")


@dashboards_app.command("export")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write them.", file_okay=False)],
) -> None:
    """Write the dashboards as JSON files, and the alert rules for Prometheus beside them."""
    from rl_insight.stack import files

    try:
        written = files.write_dashboards(folder.expanduser())
        written.append(files.put(folder.expanduser() / "rl-insight-alerts.yaml", files.ALERTS.read_bytes()))
    except OSError as error:
        raise Trouble(f"{folder} cannot be written: {error.strerror}", "choose another folder") from None
    for path in written:
        print(path)


@dashboards_app.command("import")
def import_(
    grafana: Annotated[str, typer.Option("--grafana", metavar="URL", help="The Grafana, as http://host:3000.")],
    token: Annotated[
        str, typer.Option(envvar="GRAFANA_TOKEN", help="Token of a service account with the role Editor.")
    ] = "",
    user: Annotated[str, typer.Option(help="Instead of a token; the password is read from GRAFANA_PASSWORD.")] = "",
    folder: Annotated[str, typer.Option(help="Title of the folder they are put into.")] = "RL-Insight",
) -> None:
    """Put the dashboards into a running Grafana, over older ones of ours. Doing it again changes nothing."""
    from rl_insight.stack.grafana_api import Grafana, GrafanaRefused

    password = os.environ.get("GRAFANA_PASSWORD", "")
    if user and not token and not password:
        password = typer.prompt(f"Password of {user} at {grafana}", hide_input=True, err=True)
    try:
        for url in Grafana(grafana, token=token, user=user, password=password).put_all(folder):
            print(url)
    except GrafanaRefused as error:
        raise split(str(error)) from None
    note("each asks for its data sources at the top: choose your Prometheus, and your Tempo for the state timeline")
