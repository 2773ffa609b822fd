"""`rl-insight targets add|list|remove`: whose `/metrics` the server reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from rl_insight.cli.options import DataDir, Url, resolve
from rl_insight.cli.trouble import Trouble, note

PATH = "/api/v1/prometheus/targets"

targets_app = typer.Typer(no_args_is_help=True, help="Engines and others whose metrics the server reads.")


@targets_app.command()
def add(
    what: Annotated[
        list[str],
        typer.Argument(
            help="Addresses (host:port or http://host:port/path), or files of them: JSON or YAML, also in the form "
            "Prometheus reads.",
            metavar="FILE|ADDRESS...",
        ),
    ],
    job: Annotated[str | None, typer.Option("--job", help="The job they belong to.", show_default="rl_insight")] = None,
    label: Annotated[list[str] | None, typer.Option("--label", help="name=value, for all of them.")] = None,
    run: Annotated[
        str | None, typer.Option("--run", help="The run to record them with; else the newest that goes on.")
    ] = None,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Register targets. The server reads them from now on, and a Prometheus can find them in its folder of targets."""
    client = _client(data_dir, url)
    labels = dict(_pair(one) for one in label or [])
    asked: list[dict[str, Any]] = []
    addresses: list[Any] = []
    for one in what:
        path = Path(one).expanduser()
        if path.is_file():
            asked += _from_file(path)
        elif path.suffix in (".json", ".yaml", ".yml") or "/" in one.replace("://", ""):
            if "://" in one:
                addresses.append(one)
            else:
                raise Trouble(f"there is no file {one}", "give the path of a file, or an address like host:port")
        else:
            addresses.append(one)
    if addresses:
        asked.append({"targets": addresses})
    added = []
    for body in asked:
        if job is not None:
            body["job_name"] = job
        if run is not None:
            body["run"] = run
        if labels:
            body["targets"] = [_labelled(one, labels) for one in body["targets"]]
        added += client.post(PATH, body)["targets"]
    for one in added:
        note(f"registered {one['target']} (job {one['job_name']})")


@targets_app.command("list")
def list_targets(
    data_dir: DataDir = None,
    url: Url = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the targets: are they up, which run do they belong to, what went wrong last?"""
    import json

    answer = _client(data_dir, url).get(PATH)
    if as_json:
        print(json.dumps(answer, indent=2))
        return
    _show(answer)


@targets_app.command()
def remove(
    addresses: Annotated[
        list[str] | None, typer.Argument(help="Addresses, as 'rl-insight targets list' shows.")
    ] = None,
    job: Annotated[str | None, typer.Option("--job", help="Only, or all, of this job.")] = None,
    run: Annotated[str | None, typer.Option("--run", help="Only, or all, of this run.")] = None,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Remove targets by address, by job, or by run."""
    from rl_insight.cli.client import Refused

    given = [("target", one) for one in addresses or []]
    given += [("job_name", job)] if job is not None else []
    given += [("run", run)] if run is not None else []
    if not given:
        raise Trouble("nothing was removed", "name addresses, a --job or a --run")
    try:
        gone = _client(data_dir, url).delete(f"{PATH}?{urlencode(given)}")["removed"]
    except Refused as refused:
        raise Trouble(refused.what, "'rl-insight targets list' shows them") from None
    note(f"removed {', '.join(gone)}")


def _client(data_dir: Path | None, url: str | None) -> Any:
    import os

    from rl_insight.cli.client import Client, running

    if url is not None:
        return Client(url, os.environ.get("RL_INSIGHT_TOKEN", ""))
    folder = resolve(data_dir)
    client = running(folder)
    if client is None:
        raise Trouble(f"no server runs on {folder}", f"start one with 'rl-insight server start --data-dir {folder}'")
    return client


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Trouble(f"--label {text} says no value", "write --label name=value")
    return name, value


def _from_file(path: Path) -> list[dict[str, Any]]:
    """What a file registers: a request's body, a list of addresses, or groups as Prometheus has them."""
    import yaml

    try:
        found = yaml.safe_load(path.read_text())  # JSON is YAML
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Trouble(f"{path} cannot be read: {error}", "JSON or YAML is wanted") from None
    if isinstance(found, dict):
        found = [found]
    if not isinstance(found, list) or not found:
        raise Trouble(f"{path} holds no targets", 'write a list of addresses, or {"targets": ["host:port"]}')
    plain = [one for one in found if not (isinstance(one, dict) and "targets" in one)]
    groups = [dict(one) for one in found if isinstance(one, dict) and "targets" in one]
    for group in groups:
        labels = dict(group.get("labels") or {}) if isinstance(group.get("labels") or {}, dict) else None
        if labels is not None and "job" in labels:
            group.setdefault("job_name", str(labels.pop("job")))
            group["labels"] = labels
    return [*([{"targets": plain}] if plain else []), *groups]


def _labelled(one: Any, labels: dict[str, str]) -> dict[str, Any]:
    given = one if isinstance(one, dict) else {"target": one}
    return {**given, "labels": {**(given.get("labels") or {}), **labels}}


def _show(answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rl_insight.cli.text import moment

    if not answer["targets"]:
        note("no targets; 'rl-insight targets add host:port' registers one")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("target", "job", "state", "run", "labels", "last read", "series", "last error"):
        table.add_column(column, overflow="fold")
    colours = {"up": "green", "down": "red"}
    for one in answer["targets"]:
        skipped = f" (+{one['skipped_series']} left out)" if one["skipped_series"] else ""
        table.add_row(
            Text(one["target"]),
            Text(one["job_name"]),
            Text(one["state"], style=colours.get(one["state"], "")),
            Text(one["run"] or "–"),
            Text(" ".join(f"{name}={value}" for name, value in one["labels"].items()) or "–"),
            moment(int(one["last_scrape"] * 1e6)) if one["last_scrape"] else "–",
            f"{one['series']}{skipped}",
            Text(one["last_error"] or "–"),
        )
    Console().print(table)
    if not answer["scraping"]:
        note("the server itself reads none of them (collector.scrape.enabled is false)")
