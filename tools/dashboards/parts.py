"""Panels in the house style: each asks one question in its title, and explains the answer in its description."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    table,
    timeseries,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as common_model
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import heatmap as heatmap_model
from grafana_foundation_sdk.models import prometheus as prometheus_model

METRICS = model.DataSourceRef(type_val="prometheus", uid="${metrics}")

# What every series of a run carries. Role and rank are there for series of a process.
RUN = 'run=~"$run",project=~"$project",experiment=~"$experiment"'
WHO = f'{RUN},role=~"$role",rank=~"$rank"'

GREEN, YELLOW, RED, BLUE = "green", "#EAB839", "red", "blue"


@dataclass(frozen=True)
class Ask:
    """One query of a panel. `legend` names its series; an instant one asks for now only."""

    expr: str
    legend: str = ""
    instant: bool = False


@dataclass(frozen=True)
class Limits:
    """Where a value starts to be worth a look, and where it is bad. `below` turns both around."""

    look: float | None
    bad: float
    below: bool = False


def curve(
    title: str,
    why: str,
    *asks: Ask,
    unit: str = "short",
    width: int = 12,
    height: int = 8,
    stacked: bool = False,
    low: float | None = 0,
    high: float | None = None,
    limits: Limits | None = None,
    steps: bool = False,
    decimals: int | None = None,
) -> Any:
    """A question whose answer changes with time."""
    calcs = ["lastNotNull", "mean", "max"]
    panel = (
        timeseries.Panel()
        .unit(unit)
        .line_width(1)
        .fill_opacity(35 if stacked else 8)
        .show_points(common_model.VisibilityMode.NEVER)
        .span_nulls(False)
        .legend(
            common.VizLegendOptions()
            .display_mode(common_model.LegendDisplayMode.TABLE)
            .placement(common_model.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs(calcs)
            .sort_by("Last *")
            .sort_desc(True)
        )
        .tooltip(
            common.VizTooltipOptions()
            .mode(common_model.TooltipDisplayMode.MULTI)
            .sort(common_model.SortOrder.DESCENDING)
        )
        .color_scheme(dashboard.FieldColor().mode(model.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    )
    if stacked:
        panel.stacking(common.StackingConfig().mode(common_model.StackingMode.NORMAL).group("A"))
    if steps:
        panel.line_interpolation(common_model.LineInterpolation.STEP_AFTER)
    if low is not None:
        panel.min(low)
    if high is not None:
        panel.max(high)
    if decimals is not None:
        panel.decimals(decimals)
    if limits is not None:
        panel.thresholds(_thresholds(limits))
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(common_model.GraphThresholdsStyleMode.DASHED))
    return _ask(panel, title, why, asks, width, height)


def number(
    title: str,
    why: str,
    *asks: Ask,
    unit: str = "short",
    width: int = 4,
    height: int = 4,
    limits: Limits | None = None,
    decimals: int | None = None,
    missing: str = "no data",
) -> Any:
    """A question whose answer is one figure, now."""
    panel = (
        stat.Panel()
        .unit(unit)
        .no_value(missing)
        .graph_mode(common_model.BigValueGraphMode.AREA)
        .color_mode(common_model.BigValueColorMode.VALUE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields(""))
    )
    if decimals is not None:
        panel.decimals(decimals)
    if limits is None:
        panel.color_scheme(dashboard.FieldColor().mode(model.FieldColorModeId.FIXED).fixed_color(BLUE))
        panel.thresholds(_steps((None, BLUE)))
    else:
        panel.thresholds(_thresholds(limits))
    return _ask(panel, title, why, asks, width, height)


def bars(
    title: str,
    why: str,
    *asks: Ask,
    unit: str = "short",
    width: int = 12,
    height: int = 8,
    high: float | None = None,
    limits: Limits | None = None,
) -> Any:
    """A question that compares members of a set, now."""
    panel = (
        bargauge.Panel()
        .unit(unit)
        .min(0)
        .no_value("no data")
        .display_mode(common_model.BarGaugeDisplayMode.GRADIENT)
        .orientation(common_model.VizOrientation.HORIZONTAL)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields(""))
    )
    if high is not None:
        panel.max(high)
    panel.thresholds(_thresholds(limits) if limits is not None else _steps((None, BLUE)))
    return _ask(panel, title, why, asks, width, height)


def heat(title: str, why: str, ask: Ask, *, unit: str = "s", width: int = 12, height: int = 8) -> Any:
    """How values are spread, and how that changes: a column per moment, a row per bucket."""
    panel = (
        heatmap.Panel()
        .unit(unit)
        .no_value("no data")
        .calculate(False)
        .color(
            heatmap.HeatmapColorOptions()
            .mode(heatmap_model.HeatmapColorMode.SCHEME)
            .scheme("Oranges")
            .exponent(0.5)
            .steps(64)
        )
        .cell_gap(1)
        .filter_values(heatmap.FilterValueRange().le(1e-9))
        .rows_frame(heatmap.RowsHeatmapOptions().layout(common_model.HeatmapCellLayout.AUTO))
        .y_axis(heatmap.YAxisConfig().unit(unit).axis_placement(common_model.AxisPlacement.LEFT))
        .cell_values(heatmap.CellValues().unit("short"))
        .mode(common_model.TooltipDisplayMode.SINGLE)
        .show_legend()
        .show_y_histogram()
    )
    query = _query(ask, 0).format(prometheus_model.PromQueryFormat.HEATMAP)
    return _place(panel.with_target(query).datasource(METRICS), title, why, width, height)


def rows(
    title: str,
    why: str,
    columns: Sequence[tuple[str, Ask]],
    by: Sequence[str],
    *,
    width: int = 24,
    height: int = 9,
    units: dict[str, str] | None = None,
    limits: dict[str, Limits] | None = None,
    words: dict[str, dict[str, tuple[str, str]]] | None = None,
    sort: str | None = None,
) -> Any:
    """A table: a row per set of the labels `by`, and a column per query."""
    panel = (
        table.Panel()
        .no_value("no data")
        .show_header(True)
        .cell_height(common_model.TableCellHeight.SM)
        .filterable(True)
    )
    if sort is not None:
        panel.sort_by([common.TableSortByFieldState().display_name(sort).desc(True)])
    names: dict[str, str] = {}
    for number_, (name, ask) in enumerate(columns):
        panel.with_target(_query(ask, number_).instant().format(prometheus_model.PromQueryFormat.TABLE))
        names["Value" if len(columns) == 1 else f"Value #{_reference(number_)}"] = name
    if len(columns) > 1:
        panel.with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
    order = {label: place for place, label in enumerate([*by, *names])}
    panel.with_transformation(
        model.DataTransformerConfig(
            id_val="organize",
            options={"excludeByName": {"Time": True}, "indexByName": order, "renameByName": names},
        )
    )
    for name, _ in columns:
        properties = [("unit", (units or {}).get(name, "short"))]
        if limits and name in limits:
            steps = _thresholds(limits[name]).build()
            properties += [("thresholds", steps), ("custom.cellOptions", {"type": "color-text"})]
        if words and name in words:
            said = {value: {"text": text, "color": color} for value, (text, color) in words[name].items()}
            properties += [("mappings", [{"type": "value", "options": said}])]
            properties += [("custom.cellOptions", {"type": "color-text"})]
        panel.override_by_name(name, [model.DynamicConfigValue(key, value) for key, value in properties])
    return _place(panel.datasource(METRICS), title, why, width, height)


def page(uid: str, title: str, why: str, version: int, *, processes: bool = True) -> Any:
    """An empty dashboard with what all of them share: variables, links to each other, time and refresh."""
    made = (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(why)
        .version(version)
        .tags(["rl-insight"])
        .timezone("browser")
        .time("now-1h", "now")
        .refresh("10s")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .editable()
        .link(
            dashboard.DashboardLink("RL-Insight")
            .type(model.DashboardLinkType.DASHBOARDS)
            .tags(["rl-insight"])
            .as_dropdown(False)
            .include_vars(True)
            .keep_time(True)
        )
        .with_variable(dashboard.DatasourceVariable("metrics").label("Prometheus").type("prometheus").multi(False))
    )
    wanted = [
        ("project", "Project", "label_values(rl_insight_run_info, project)"),
        ("experiment", "Experiment", 'label_values(rl_insight_run_info{project=~"$project"}, experiment)'),
        ("run", "Run", 'label_values(rl_insight_run_info{project=~"$project",experiment=~"$experiment"}, run)'),
    ]
    if processes:
        wanted += [
            ("role", "Role", 'label_values(rl_insight_process_up{run=~"$run"}, role)'),
            ("rank", "Rank", 'label_values(rl_insight_process_up{run=~"$run",role=~"$role"}, rank)'),
        ]
    for name, label, query in wanted:
        made.with_variable(choice(name, label, query))
    return made


def choice(name: str, label: str, query: str, regex: str = "", *, listed: bool = False) -> Any:
    """A variable with the values of a label; All, the default, also takes series without it, unless it is `listed`."""
    made = (
        dashboard.QueryVariable(name)
        .label(label)
        .query({"query": query, "refId": f"variable-{name}", "qryType": 1})
        .datasource(METRICS)
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.NATURAL_ASC)
        .multi(True)
        .include_all(True)
        .current(model.VariableOption(text=["All"], value=["$__all"]))
    )
    if not listed:
        made.all_value(".*")
    return made.regex(regex) if regex else made


def fill(made: Any, *parts: Any) -> Any:
    """Put rows (text) and panels on a dashboard, left to right and top to bottom, numbered in that order."""
    x = y = tallest = 0
    for number_, part in enumerate(parts, start=1):
        if isinstance(part, str):
            y, x, tallest = y + tallest, 0, 0
            made.with_row(dashboard.Row(part).id(number_).grid_pos(model.GridPos(h=1, w=24, x=0, y=y)))
            y += 1
            continue
        size = part.build().grid_pos
        if x + size.w > 24:
            y, x, tallest = y + tallest, 0, 0
        made.with_panel(part.id(number_).grid_pos(model.GridPos(h=size.h, w=size.w, x=x, y=y)))
        x, tallest = x + size.w, max(tallest, size.h)
    return made.build()


def as_json(made: Any) -> str:
    """The classic JSON, in an order that does not change from one making to the next."""
    return json.dumps(made, cls=JSONEncoder, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def quantiles(metric: str, labels: str, *by: str, of: Sequence[float] = (0.5, 0.95, 0.99)) -> list[Ask]:
    """Median and tails of a histogram, per combination of the labels `by`."""
    grouped = ", ".join(["le", *by])
    shown = " ".join(f"{{{{{label}}}}}" for label in by)
    return [
        Ask(
            f"histogram_quantile({at}, sum by ({grouped}) (rate({metric}_bucket{{{labels}}}[$__rate_interval])))",
            f"p{at * 100:g} {shown}".strip(),
        )
        for at in of
    ]


def _ask(panel: Any, title: str, why: str, asks: Sequence[Ask], width: int, height: int) -> Any:
    for number_, ask in enumerate(asks):
        query = _query(ask, number_)
        panel.with_target(query.instant() if ask.instant else query.range())
    return _place(panel.datasource(METRICS), title, why, width, height)


def _query(ask: Ask, number_: int) -> Any:
    query = prometheus.Dataquery().expr(ask.expr).ref_id(_reference(number_)).datasource(METRICS)
    return query.legend_format(ask.legend or "__auto").editor_mode(prometheus_model.QueryEditorMode.CODE)


def _place(panel: Any, title: str, why: str, width: int, height: int) -> Any:
    return panel.title(title).description(why).span(width).height(height)


def _reference(number_: int) -> str:
    return chr(ord("A") + number_)


def _thresholds(limits: Limits) -> Any:
    if limits.below:
        middle = [] if limits.look is None else [(limits.bad, YELLOW)]
        return _steps((None, RED), *middle, (limits.look if limits.look is not None else limits.bad, GREEN))
    middle = [] if limits.look is None else [(limits.look, YELLOW)]
    return _steps((None, GREEN), *middle, (limits.bad, RED))


def _steps(*steps: tuple[float | None, str]) -> Any:
    return (
        dashboard.ThresholdsConfig()
        .mode(model.ThresholdsMode.ABSOLUTE)
        .steps([model.Threshold(value=value, color=color) for value, color in steps])
    )
