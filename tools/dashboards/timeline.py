"""What was every lane doing, moment by moment? From Tempo; the shares of time beside it are from Prometheus."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders import common, statetimeline, table, tempo
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import common as common_model
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import tempo as tempo_model

from tools.dashboards.parts import WHO, Ask, curve, fill, page

VERSION = 1
TRACES = model.DataSourceRef(type_val="tempo", uid="${traces}")
MOST_SPANS = 5000
NOT_SHOWN = ("traceIdHidden", "Trace Service", "Trace Name", "Span ID", "Duration", "milliseconds")

# Attributes as schema/conventions.py has them. `service.name` is the role, and is there for every process.
OF_RUN = 'resource.rl.run =~ "$run" && resource.service.name =~ "$role"'
STATES = f'{{ span.rl.part = "state" && {OF_RUN} }} | select(span.rl.lane, resource.service.name, resource.rl.proc)'
MORE = "span.rl.part, span.rl.lane, span.rl.session.id, resource.service.name"
SLOW = f"{{ {OF_RUN} && duration > 1s }} | select({MORE})"
FAILED = f"{{ {OF_RUN} && status = error }} | select({MORE}, span.rl.reason)"
# A lane is known by its process and its name: two processes may call theirs the same.
LANE = ["service.name", "rl.lane", "rl.proc"]
# Colours by what a state's name says; the first that fits counts. Waiting is grey, so that work stands out.
COLORS = {
    "/^(wait|idle|block|stall|queue|pending|sleep)/i": "#7b8087",
    "/(rollout|generat|decode|prefill|infer|sampl)/i": "blue",
    "/(train|update|forward|backward|optim|actor|critic|learn)/i": "green",
    "/(sync|weight|broadcast|load|offload)/i": "purple",
    "/(tool|env|interact|step)/i": "orange",
    "/(reward|score|verif|judge|ref|adv)/i": "#EAB839",
    "/(eval|valid|check|save|ckpt)/i": "#6ED0E0",
    "/(error|fail|retry|crash)/i": "red",
}


def dashboard() -> Any:
    made = page(
        "rl-insight-timeline",
        "RL-Insight / State timeline",
        "What was every lane doing, moment by moment, and which work was slow or failed?",
        VERSION,
    )
    made.with_variable(build.DatasourceVariable("traces").label("Tempo").type("tempo").multi(False))
    return fill(
        made,
        _lanes(),
        "How is time spent?",
        curve(
            "In which states is time spent?",
            "Lanes in each state, on average, over all processes chosen.",
            Ask(f"sum by (state) (rate(rl_insight_lane_state_seconds_total{{{WHO}}}[$__rate_interval]))", "{{state}}"),
            stacked=True,
        ),
        curve(
            "Who spends it?",
            "Lanes in any state, by process. A process below the others is idle between states, or gone.",
            Ask(
                f"sum by (role, rank) (rate(rl_insight_lane_state_seconds_total{{{WHO}}}[$__rate_interval]))",
                "{{role}} {{rank}}",
            ),
        ),
        "Which work is worth a look?",
        _spans("Which spans took longer than a second?", "The newest of them; follow a link to its whole trace.", SLOW),
        _spans("Which spans failed?", "Spans that ended with an error; follow a link to the whole trace.", FAILED),
    )


def _lanes() -> Any:
    panel = (
        statetimeline.Panel()
        .merge_values(False)  # two rollouts one after the other are two, not one long one
        .show_value(common_model.VisibilityMode.AUTO)
        .align_value(common_model.TimelineValueAlignment.LEFT)
        .row_height(0.85)
        .line_width(0)
        .fill_opacity(85)
        .per_page(40)
        .color_scheme(build.FieldColor().mode(model.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
        .display_name("${__series.name}")
        .mappings([_color(number, pattern, color) for number, (pattern, color) in enumerate(COLORS.items())])
        .no_value("no states: is a Tempo connected, and does the collector export to it?")
        .legend(
            common.VizLegendOptions()
            .display_mode(common_model.LegendDisplayMode.LIST)
            .placement(common_model.LegendPlacement.BOTTOM)
            .show_legend(True)
        )
        .tooltip(common.VizTooltipOptions().mode(common_model.TooltipDisplayMode.SINGLE))
        .with_target(_query(STATES, "A"))
    )
    # Tempo hands out start and duration; the panel wants start and end, and a frame per lane.
    for transformation, options in [
        ("calculateField", _sum("milliseconds", "Duration", "/", "1000000")),
        ("calculateField", _sum("end", "Start time", "+", "milliseconds")),
        ("convertFieldType", {"conversions": [{"targetField": "end", "destinationType": "time"}], "fields": {}}),
        (
            "organize",
            {
                "excludeByName": dict.fromkeys(NOT_SHOWN, True),
                "indexByName": {name: place for place, name in enumerate(["Start time", "end", "Name", *LANE])},
                "renameByName": {},
            },
        ),
        ("sortBy", {"sort": [{"field": "Start time", "desc": False}]}),
        ("partitionByValues", {"fields": LANE, "keepFields": False, "naming": {"asLabels": False}}),
    ]:
        panel.with_transformation(model.DataTransformerConfig(id_val=transformation, options=options))
    return (
        panel.datasource(TRACES)
        .title("What was every lane doing?")
        .description(
            "A row per lane, a bar per state: every interval is kept apart. Zoom in to see short ones; at most "
            f"{MOST_SPANS} states are fetched. Work in progress shows once it ends; the collector's page has it live."
        )
        .span(24)
        .height(18)
    )


def _spans(title: str, why: str, query: str) -> Any:
    return (
        table.Panel()
        .with_target(_query(query, "A", most=200))
        .no_value("none")
        .cell_height(common_model.TableCellHeight.SM)
        .filterable(True)
        .datasource(TRACES)
        .title(title)
        .description(why)
        .span(12)
        .height(10)
    )


def _query(query: str, reference: str, most: int = MOST_SPANS) -> Any:
    return (
        tempo.TempoQuery()
        .ref_id(reference)
        .query_type("traceql")
        .query(query)
        .table_type(tempo_model.SearchTableType.SPANS)
        .limit(most)
        .spss(100)
        .filters([])
        .datasource(TRACES)
    )


def _color(number: int, pattern: str, color: str) -> Any:
    result = model.ValueMappingResult(color=color, index=number)
    return model.RegexMap(model.DashboardRegexMapOptions(pattern=pattern, result=result))


def _sum(name: str, left: str, operator: str, right: str) -> dict[str, Any]:
    return {
        "mode": "binary",
        "alias": name,
        # Plain text, which newer Grafanas also read; 11.0 knows nothing else.
        "binary": {"left": left, "operator": operator, "right": right},
        "replaceFields": False,
    }
