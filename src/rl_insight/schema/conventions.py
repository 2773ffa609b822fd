"""One table between the line format and OpenTelemetry's attributes: receiver and exporter go by it.

What the exporter writes the receiver turns back into the same line. `docs/otlp.md` shows the table; a test compares.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

VERSION: Final = "1"
"""Of the table. Goes up when an attribute changes its name or its meaning; rows are only ever added otherwise."""


class Row(NamedTuple):
    """A field of a line and the attribute that carries it; `also` are read where the attribute is missing."""

    field: str
    attribute: str
    also: tuple[str, ...] = ()


class Derived(NamedTuple):
    """An attribute of ours, and what others call it. Added on export; taken over on receipt where ours is missing."""

    attr: str
    attribute: str


PROC: Final = "rl.proc"
VIA: Final = "rl.via"
SCHEMA: Final = "rl.schema"
CONVENTIONS: Final = "rl.conventions"

# Of a process, on the resource.
RESOURCE: tuple[Row, ...] = (
    Row("run", "rl.run"),
    Row("project", "rl.project", ("service.namespace",)),
    Row("experiment", "rl.experiment"),
    Row("role", "rl.role", ("service.name",)),
    Row("rank", "rl.rank"),
    Row("node", "rl.node", ("k8s.node.name", "host.name")),
    Row("host", "host.name"),
    Row("pid", "process.pid"),
    Row("parent", "rl.parent"),
    Row("started", "rl.started"),
    Row("heartbeat", "rl.heartbeat"),
    Row("config_hash", "rl.config_hash"),
    Row("versions", "rl.versions"),
    Row("aliases", "rl.aliases"),
    Row("labels", "rl.labels"),
)

# Of a process line, on its log record: what changes while the process runs.
STATE = Row("state", "rl.state")
CLOCK_OFFSET = Row("clock_offset", "rl.clock_offset")
PROCESS_ATTRS = Row("attrs", "rl.attrs")
PROCESS: tuple[Row, ...] = (STATE, CLOCK_OFFSET, PROCESS_ATTRS)

KIND: Final = "rl.kind"
SEQ: Final = "rl.seq"
TAG: Final = "rl.tag."
ESCAPE: Final = "rl.attr."
ADDED: Final = "rl.added"
MADE: Final = "rl.made"

TASK = Row("task", "rl.task.id")
SESSION = Row("session", "rl.session.id", ("gen_ai.conversation.id", "session.id"))
STEP = Row("step", "rl.step")

# Of spans, log records, and the exemplars of metrics.
RECORD: tuple[Row, ...] = (
    TASK,
    SESSION,
    STEP,
    Row("lane", "rl.lane"),
    Row("part", "rl.part"),
    Row("status", "rl.status"),
    Row("reason", "rl.reason"),
    Row("op", "rl.op"),
    Row("try", "rl.try"),
    Row("peer", "rl.peer"),
    Row("outcome", "rl.outcome"),
    Row("count", "rl.count"),
    Row("logger", "rl.logger"),
    Row("id", "rl.span.id"),
    Row("parent", "rl.parent.id"),
    Row("trace", "rl.trace.id"),
)

# Of spans.
DERIVED: tuple[Derived, ...] = (
    Derived("tokens", "gen_ai.usage.output_tokens"),
    Derived("prompt_tokens", "gen_ai.usage.input_tokens"),
    Derived("model", "gen_ai.request.model"),
    Derived("tool", "gen_ai.tool.name"),
    Derived("reward", "rl.reward"),
    Derived("weights", "rl.weights.version"),
    Derived("staleness", "rl.staleness"),
)

OPERATION: Final = "gen_ai.operation.name"
CONVERSATION: Final = "gen_ai.conversation.id"
# (part, name) of a span → what GenAI conventions call it; an empty name stands for any.
OPERATIONS: dict[tuple[str, str], str] = {
    ("session", ""): "invoke_agent",
    ("phase", "generate"): "text_completion",
    ("phase", "tool"): "execute_tool",
}

# Prompt and response text under names of others: recorded only where text is. The last part of a key is judged by the
# redactor as well (`….content`, `….messages`, `….prompt`).
TEXT_ATTRIBUTES: frozenset[str] = frozenset(
    {
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.definitions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.retrieval.query.text",
        "gen_ai.retrieval.documents",
        "input.value",
        "output.value",
        "traceloop.entity.input",
        "traceloop.entity.output",
    }
)

# What OTLP has and a line has no field for stays among the attributes under these, and goes out again as what it was.
SCOPE_NAME: Final = "otel.scope.name"
SCOPE_VERSION: Final = "otel.scope.version"
SPAN_KIND: Final = "otel.span.kind"
TRACE_STATE: Final = "otel.trace_state"
LINKS: Final = "otel.links"
EVENT: Final = "otel.event"
RESOURCE_ATTRS: Final = "resource"
SPAN_KINDS: tuple[str, ...] = ("unspecified", "internal", "server", "client", "producer", "consumer")

_SEVERITY: dict[str, int] = {"trace": 1, "debug": 5, "info": 9, "warning": 13, "error": 17, "critical": 21}
_LEVELS: tuple[str, ...] = tuple(_SEVERITY)


def severity(level: str) -> int:
    """OpenTelemetry's number for a level of ours; 0 for one that has none."""
    return _SEVERITY.get(level, 0)


def level(number: int, text: str) -> str:
    """Our level for OpenTelemetry's severity: by its number, else by its text."""
    if 1 <= number <= 24:
        return _LEVELS[(number - 1) // 4]
    said = text.strip().lower()[:32]
    return {"warn": "warning", "fatal": "critical", "err": "error"}.get(said, said) or "info"


def operation(part: str | None, name: str) -> str | None:
    """What GenAI conventions call a span of this part and name."""
    if part is None:
        return None
    return OPERATIONS.get((part, name)) or OPERATIONS.get((part, ""))


def table() -> str:
    """The mapping as a table in Markdown, for the documents."""
    rows: list[tuple[str, str, str, str]] = [("resource", "`proc`", f"`{PROC}`", "")]
    rows += _rows("resource", RESOURCE)
    rows += _rows("log record of a process line", PROCESS)
    rows.append(("span, log record, exemplar", "`kind`, `seq`", f"`{KIND}`, `{SEQ}`", ""))
    rows += _rows("span, log record, exemplar", RECORD)
    rows.append(("log record of a fact", "`tags.X`", f"`{TAG}X`", ""))
    rows += [("span", f"`attrs.{row.attr}`", f"`{row.attribute}`", "added; taken over") for row in DERIVED]
    rows += [
        ("span", f"`part` {part}" + (f", `name` {name}" if name else ""), f"`{OPERATION}` = `{said}`", "added")
        for (part, name), said in OPERATIONS.items()
    ]
    rows.append(("span", "`session`", f"`{CONVERSATION}`", "added"))
    rows.append(("any", "`attrs.X`", "`X`", f"as it is; an `X` that begins with `rl.` as `{ESCAPE}X`"))
    lines = ["| on the | of the line | attribute | |", "|---|---|---|---|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def _rows(where: str, rows: tuple[Row, ...]) -> list[tuple[str, str, str, str]]:
    return [
        (
            where,
            f"`{row.field}`",
            f"`{row.attribute}`",
            "else " + ", ".join(map("`{}`".format, row.also)) if row.also else "",
        )
        for row in rows
    ]


def is_ours(resource: dict[str, Any]) -> bool:
    """Whether a resource was written by our exporter, so that its records turn back into the lines they were."""
    return isinstance(resource.get(PROC), str) and bool(resource[PROC]) and isinstance(resource.get("rl.run"), str)
