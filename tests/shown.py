"""The dashboards as tests look at them: every panel, its queries, and what Grafana would make of the variables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from rl_insight.stack import files

DASHBOARDS: dict[str, dict[str, Any]] = {name: json.loads(body) for name, body in files.dashboards().items()}
RULES: list[dict[str, Any]] = yaml.safe_load(files.ALERTS.read_text())["groups"][0]["rules"]


class Query(NamedTuple):
    """A query of a panel, or of an alert rule."""

    where: str
    text: str
    language: str


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every panel that is no row, with the name of its dashboard."""
    for name, dashboard in DASHBOARDS.items():
        for panel in dashboard["panels"]:
            if panel["type"] != "row":
                yield name, panel


def queries() -> Iterator[Query]:
    for name, panel in panels():
        for target in panel["targets"]:
            where = f"{name}: {panel['title']} {target['refId']}"
            language = target["datasource"]["type"]
            yield Query(where, target["expr" if language == "prometheus" else "query"], language)


def alerts() -> Iterator[Query]:
    for rule in RULES:
        yield Query(rule["alert"], rule["expr"], "prometheus")


def promql() -> list[Query]:
    return [query for query in queries() if query.language == "prometheus"]


def filled(text: str, window: str = "1m", **chosen: str) -> str:
    """A query as Grafana sends it when everything is chosen."""
    text = text.replace("$__rate_interval", window).replace("$__range", window).replace("$__interval", window)
    for name, value in chosen.items():
        text = text.replace(f"${name}", value)
    return re.sub(r'=~"\$[a-z]+"', '=~".*"', text)


def selectors(text: str) -> Iterator[tuple[str, list[str]]]:
    """Names of ours in an expression, with the labels they are chosen by."""
    for name, braces in re.findall(r"\b(rl_insight_(?!monitor)\w+)(\{[^}]*\})?", text):
        yield name, re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"', braces)
