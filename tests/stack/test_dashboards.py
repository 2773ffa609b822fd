"""Dashboards are made by code, fit the grid, ask one question each, and only about what exists."""

import json
import re
import sys
from itertools import combinations
from pathlib import Path

import pytest

from rl_insight.export.metric_names import CATALOGUE
from rl_insight.schema import conventions
from rl_insight.stack import files
from shown import DASHBOARDS, alerts, panels, promql, queries, selectors

ROOT = Path(__file__).parents[2]
WANTED = {"overview", "timeline", "rollouts", "engines", "fleet", "collector"}
PANELS = [pytest.param(name, panel, id=f"{name}-{panel['id']}") for name, panel in panels()]


def test_making_them_again_changes_nothing() -> None:
    pytest.importorskip(
        "grafana_foundation_sdk", reason="DASHBOARDS ARE NOT CHECKED: grafana-foundation-sdk is not here"
    )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tools.dashboards.__main__ import texts

    made = texts()
    assert {name.removesuffix(".json") for name in made} == WANTED
    for name, text in made.items():
        assert files.dashboards()[name].decode() == text, f"{name} is out of date: run 'make dashboards'"
    assert set(files.dashboards()) == set(made)


def test_nothing_of_the_package_imports_the_sdk() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        assert "grafana_foundation_sdk" not in path.read_text(), path


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_a_dashboard_has_what_grafana_11_loads(name: str) -> None:
    dashboard = DASHBOARDS[name]
    assert dashboard["version"] >= 1
    assert 36 <= dashboard["schemaVersion"] <= 42  # classic, not the schema that came with Grafana 12
    assert re.fullmatch(r"rl-insight-[a-z]{1,20}", dashboard["uid"])
    assert dashboard["title"].startswith("RL-Insight / ")
    assert dashboard["description"].endswith("?")
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    variables = {one["name"]: one for one in dashboard["templating"]["list"]}
    assert {"metrics", "run", "project", "experiment"} <= set(variables)
    if name not in ("engines.json", "collector.json"):  # which know of no processes
        assert {"role", "rank"} <= set(variables)
    used = set(re.findall(r"\$\{?([a-z]+)", json.dumps(dashboard["panels"]))) - {"metrics"}
    assert used <= set(variables)


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_no_panel_lies_over_another(name: str) -> None:
    places = [panel["gridPos"] for panel in DASHBOARDS[name]["panels"]]
    for place in places:
        assert place["x"] >= 0
        assert place["x"] + place["w"] <= 24
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or apart, f"{one} lies over {other}"


@pytest.mark.parametrize(("name", "panel"), PANELS)
def test_a_panel_asks_and_explains(name: str, panel: dict) -> None:  # type: ignore[type-arg]
    assert panel["title"]
    assert len(panel["description"]) > 15
    assert panel["targets"]
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    for target in panel["targets"]:
        assert target["datasource"]["uid"] in ("${metrics}", "${traces}"), "a fixed data source fits one Grafana only"
    defaults = panel["fieldConfig"]["defaults"]
    if panel["type"] in ("timeseries", "stat", "bargauge"):
        assert defaults["unit"]
        assert all("legendFormat" in target for target in panel["targets"])
    if panel["type"] in ("stat", "bargauge", "table"):
        assert defaults["noValue"], "no data must not look like zero"


@pytest.mark.parametrize("query", [*promql(), *alerts()], ids=lambda query: query.where)
def test_metrics_of_ours_are_in_the_catalogue(query) -> None:  # type: ignore[no-untyped-def]
    for name, labels in selectors(query.text):
        plain = re.sub(r"_(bucket|sum|count)$", "", name) if name not in CATALOGUE else name
        assert plain in CATALOGUE, f"nothing exports {name}"
        if name != plain:
            assert CATALOGUE[plain].kind == "histogram"
        unknown = set(labels) - set(CATALOGUE[plain].labels) - {"job", "instance", "le"}
        assert not unknown, f"{name} has no label {unknown}"


def test_the_state_timeline_keeps_every_interval_apart() -> None:
    lanes = next(panel for name, panel in panels() if panel["type"] == "state-timeline")
    assert lanes["options"]["mergeValues"] is False
    # Grafana takes a second time field as the ends of states; each lane is a frame of its own.
    steps = [one["id"] for one in lanes["transformations"]]
    assert steps.index("convertFieldType") < steps.index("partitionByValues")
    assert lanes["targets"][0]["tableType"] == "spans"
    # States of one lane differ in colour: those that the demo and verl name are known by what they say.
    said = lanes["fieldConfig"]["defaults"]["mappings"]
    patterns = [one["options"]["pattern"].removeprefix("/").removesuffix("/i") for one in said]
    fits = {
        state: next(number for number, pattern in enumerate(patterns) if re.search(pattern, state))
        for state in ("wait_batch", "generate", "train", "sync_weights", "tool", "score", "checkpoint")
    }
    assert len(set(fits.values())) == len(fits)
    # Two processes may give their lanes one name: the process is part of what a lane is.
    asked = lanes["targets"][0]["query"]
    keys = next(one["options"]["fields"] for one in lanes["transformations"] if one["id"] == "partitionByValues")
    assert {"rl.lane", "rl.proc"} <= set(keys)
    assert all(f"span.{key}" in asked or f"resource.{key}" in asked for key in keys)


def test_traceql_is_sound_as_far_as_can_be_told_without_tempo() -> None:
    rows = (*conventions.RESOURCE, *conventions.RECORD)
    known = {row.attribute for row in rows} | {conventions.PROC, "service.name"}
    found = [query for query in queries() if query.language == "tempo"]
    assert len(found) >= 3
    for query in found:
        spans, _, rest = query.text.partition(" | ")
        assert re.fullmatch(r"\{ [^{}]+ \}", spans), query
        assert re.fullmatch(r"select\([^()]+\)", rest), query
        for scope, attribute in re.findall(r"\b(resource|span)\.([a-z_]+(?:\.[a-z_]+)*)", query.text):
            assert attribute in known, f"nothing exports {scope}.{attribute}"
            of_resource = attribute in {row.attribute for row in conventions.RESOURCE} | {
                conventions.PROC,
                "service.name",
            }
            assert (scope == "resource") == of_resource, f"{attribute} is not of a {scope}"
        for comparison in re.split(r" && ", spans.strip("{} ")):
            assert re.fullmatch(r'[a-z_.]+ (=~|=|!=|>|<) ("[^"]*"|[0-9]+(ms|s)|error)', comparison), comparison
