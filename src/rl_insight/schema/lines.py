"""The line format, schema v1: one struct a kind. Recorders build these; the collector checks against them.

Fields are only ever added, always with a default. A field that is not known here stays in the log and is
ignored by the projection.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

SCHEMA_MAJOR = 1
SCHEMA_VERSION = "1.0"

_INT64_MAX = 2**63 - 1

Seq: TypeAlias = Annotated[int, Meta(ge=1, le=_INT64_MAX, description="1, 2, 3, … per proc, no holes")]
Nanos: TypeAlias = Annotated[int, Meta(ge=0, le=_INT64_MAX, description="nanoseconds")]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=_INT64_MAX)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=512)]
Proc: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=128, description="one incarnation of one recording process")
]
SchemaVersion: TypeAlias = Annotated[str, Meta(pattern=r"^1\.", description="major.minor of the line format")]
Labels: TypeAlias = dict[str, str]
Attrs: TypeAlias = dict[str, Any]
Status: TypeAlias = Literal["ok", "error", "timeout", "cancelled"]
Part: TypeAlias = Annotated[
    Literal["state", "task", "session", "turn", "phase"],
    Meta(description="what the interval is: the state of a lane, or a level of the task hierarchy; else a plain span"),
]


class _Line(Struct, tag_field="kind", omit_defaults=True, gc=False):
    """What every line says. `v`, on all of them too, is the major version, left out while it is 1."""

    proc: Proc
    seq: Seq
    ts: Annotated[int, Meta(ge=0, le=_INT64_MAX, description="ns since the epoch, by the producer's clock")]
    name: Name


class Process(_Line, tag="process", kw_only=True):
    """Who records. First line of every process, and again as its heartbeat."""

    run: Name
    schema: SchemaVersion
    project: str | None = None
    experiment: str | None = None
    role: str | None = None
    rank: Int64 | None = None
    node: str | None = None
    host: str | None = None
    pid: Int64 | None = None
    parent: str | None = None
    started: Nanos | None = None
    heartbeat: Annotated[float, Meta(gt=0, description="seconds between heartbeats")] | None = None
    state: Literal["running", "finished"] = "running"
    clock_offset: Annotated[Int64, Meta(description="collector's clock minus ours, ns, as estimated")] | None = None
    versions: dict[str, str] | None = None
    config_hash: str | None = None
    aliases: Labels | None = None
    labels: Labels | None = None
    attrs: Attrs | None = None
    v: Literal[1] = 1


class _Point(_Line):
    value: float
    labels: Labels | None = None
    step: Int64 | None = None
    task: str | None = None
    session: str | None = None
    v: Literal[1] = 1


class Count(_Point, tag="count"):
    """A counter moved by `value`."""


class Gauge(_Point, tag="gauge"):
    """A quantity had this `value`."""


class Sample(_Point, tag="sample"):
    """One observation of a distribution."""


class Span(_Line, tag="span"):
    """A finished interval. A state is one with a lane, no parent and the part `state`."""

    dur: Nanos
    id: str | None = None
    parent: str | None = None
    trace: str | None = None
    lane: str | None = None
    task: str | None = None
    session: str | None = None
    step: Int64 | None = None
    status: Status | None = None
    reason: str | None = None
    part: Part | None = None
    attrs: Attrs | None = None
    v: Literal[1] = 1


class Open(_Line, tag="open"):
    """An interval that is still running; its span follows under the same `id` when it ends."""

    id: str
    parent: str | None = None
    trace: str | None = None
    lane: str | None = None
    task: str | None = None
    session: str | None = None
    step: Int64 | None = None
    part: Part | None = None
    attrs: Attrs | None = None
    v: Literal[1] = 1


class Log(_Line, tag="log"):
    """A structured log record; `name` is the message."""

    level: Annotated[str, Meta(min_length=1, max_length=32)]
    logger: str | None = None
    trace: str | None = None
    parent: str | None = None
    task: str | None = None
    session: str | None = None
    step: Int64 | None = None
    attrs: Attrs | None = None
    v: Literal[1] = 1


class Fact(_Line, tag="fact", rename={"attempt": "try"}):
    """Something that happened and only this process could see, named `group.subject.verb`."""

    tags: Labels | None = None
    op: str | None = None
    attempt: Annotated[int, Meta(ge=0, le=_INT64_MAX)] | None = None
    peer: str | None = None
    outcome: Status | None = None
    reason: str | None = None
    trace: str | None = None
    parent: str | None = None
    task: str | None = None
    session: str | None = None
    step: Int64 | None = None
    attrs: Attrs | None = None
    v: Literal[1] = 1


class Lost(_Line, tag="lost"):
    """What the recorder had to drop, exactly. `name` says what kind of thing was dropped."""

    count: Annotated[int, Meta(ge=1, le=_INT64_MAX)]
    reason: str
    v: Literal[1] = 1


Line: TypeAlias = Process | Count | Gauge | Sample | Span | Open | Log | Fact | Lost
KINDS: tuple[str, ...] = ("process", "count", "gauge", "sample", "span", "open", "log", "fact", "lost")
