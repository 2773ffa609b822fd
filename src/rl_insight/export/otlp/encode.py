"""Lines as OTLP requests, by the mapping table. What is made here our own receiver turns back into the same lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_DELTA

from rl_insight.export.otlp.values import add, put, span_id, trace_id
from rl_insight.schema import Count, Fact, Gauge, Line, Log, Lost, Process, Sample, Span
from rl_insight.schema import conventions as names
from rl_insight.version import __version__

SIGNALS: dict[str, tuple[type, ...]] = {
    "traces": (Span,),
    "metrics": (Count, Gauge, Sample),
    "logs": (Log, Fact, Lost, Process),
}
# From a millisecond to ten thousand of anything, three a decade: a distribution's unit is not known here.
BOUNDS: tuple[float, ...] = (
    *(float(f"{digit}e{power}") for power in range(-3, 4) for digit in ("1", "2.5", "5")),
    10_000.0,
)

_KINDS = {Count: "count", Gauge: "gauge", Sample: "sample"}
_ROWS = {row.field: row.attribute for row in names.RECORD}
_SCOPE = "rl_insight"
_REMEMBERED = 100_000
Resources = Callable[[str], dict[str, Any]]


class Encoder:
    """Makes requests of lines. Remembers when each counter moved last: a delta says since when."""

    def __init__(self, resource: Resources) -> None:
        self._resource = resource
        self._moved: dict[tuple[str, str, str], int] = {}
        self._help: dict[str, dict[str, str]] = {}

    def describe(self, proc: str, attrs: dict[str, Any] | None) -> None:
        """Take what a process says its metrics mean."""
        said = (attrs or {}).get("help")
        if isinstance(said, dict):
            self._help[proc] = {str(name): str(text) for name, text in said.items()}

    def request(self, signal: str, lines: Iterable[Line]) -> Any:
        """The request that carries these lines, all of one signal and in the order of the log."""
        by_proc: dict[str, list[Any]] = {}
        for line in lines:
            by_proc.setdefault(line.proc, []).append(line)
        if signal == "traces":
            return self._traces(by_proc)
        return self._logs(by_proc) if signal == "logs" else self._metrics(by_proc)

    def _traces(self, by_proc: dict[str, list[Span]]) -> ExportTraceServiceRequest:
        request = ExportTraceServiceRequest()
        for proc, lines in by_proc.items():
            group = request.resource_spans.add()
            add(group.resource.attributes, self._resource(proc))
            scope = group.scope_spans.add()
            scope.scope.name, scope.scope.version = _SCOPE, __version__
            for line in lines:
                _span(scope.spans.add(), line)
        return request

    def _logs(self, by_proc: dict[str, list[Any]]) -> ExportLogsServiceRequest:
        request = ExportLogsServiceRequest()
        for proc, lines in by_proc.items():
            group = request.resource_logs.add()
            add(group.resource.attributes, self._resource(proc))
            scope = group.scope_logs.add()
            scope.scope.name, scope.scope.version = _SCOPE, __version__
            for line in lines:
                _record(scope.log_records.add(), line)
        return request

    def _metrics(self, by_proc: dict[str, list[Any]]) -> ExportMetricsServiceRequest:
        request = ExportMetricsServiceRequest()
        for proc, lines in by_proc.items():
            group = request.resource_metrics.add()
            add(group.resource.attributes, self._resource(proc))
            scope = group.scope_metrics.add()
            scope.scope.name, scope.scope.version = _SCOPE, __version__
            metrics: dict[tuple[type, str, bool], Any] = {}
            series: dict[tuple[str, str], Any] = {}
            for line in lines:
                key = (type(line), line.name, type(line) is Count and line.value < 0)
                metric = metrics.get(key)
                if metric is None:
                    metric = metrics[key] = scope.metrics.add(name=line.name)
                    metric.description = self._help.get(proc, {}).get(line.name, "")
                    _set_up(metric, key)
                self._point(metric, line, series)
        return request

    def _point(self, metric: Any, line: Any, series: dict[tuple[str, str], Any]) -> None:
        labels = line.labels or {}
        if type(line) is Sample:
            _observe(metric, line, series)
            return
        data = metric.gauge if type(line) is Gauge else metric.sum
        point = data.data_points.add(time_unix_nano=line.ts, as_double=line.value)
        add(point.attributes, labels)
        if type(line) is Count:
            key = (line.proc, line.name, repr(sorted(labels.items())))
            point.start_time_unix_nano = min(self._moved.get(key, line.ts), line.ts)
            if len(self._moved) >= _REMEMBERED:
                self._moved.clear()
            self._moved[key] = line.ts
        _exemplar(point.exemplars.add(), line)


def _set_up(metric: Any, key: tuple[type, str, bool]) -> None:
    kind, _, falling = key
    if kind is Gauge:
        metric.gauge.SetInParent()
    elif kind is Count:
        metric.sum.aggregation_temporality = AGGREGATION_TEMPORALITY_DELTA
        metric.sum.is_monotonic = not falling
    else:
        metric.histogram.aggregation_temporality = AGGREGATION_TEMPORALITY_DELTA


def _observe(metric: Any, line: Sample, series: dict[tuple[str, str], Any]) -> None:
    """Put an observation into its series' histogram, and itself beside it as an exemplar."""
    labels = line.labels or {}
    key = (line.name, repr(sorted(labels.items())))
    point = series.get(key)
    if point is None:
        point = series[key] = metric.histogram.data_points.add(
            start_time_unix_nano=line.ts, min=line.value, max=line.value
        )
        add(point.attributes, labels)
        point.explicit_bounds.extend(BOUNDS)
        point.bucket_counts.extend([0] * (len(BOUNDS) + 1))
    point.time_unix_nano = max(point.time_unix_nano, line.ts)
    point.start_time_unix_nano = min(point.start_time_unix_nano, line.ts)
    point.count += 1
    point.sum += line.value
    point.min, point.max = min(point.min, line.value), max(point.max, line.value)
    point.bucket_counts[bisect_left(BOUNDS, line.value)] += 1
    _exemplar(point.exemplars.add(), line)


def _exemplar(exemplar: Any, line: Any) -> None:
    """The line itself: when, how much, and of which step. These would be labels without end elsewhere."""
    exemplar.time_unix_nano = line.ts
    exemplar.as_double = line.value
    said = {names.KIND: _KINDS[type(line)], names.SEQ: line.seq}
    said |= _fields(line, "task", "session", "step")
    add(exemplar.filtered_attributes, said)


def _span(span: Any, line: Span) -> None:
    span.name = line.name
    span.start_time_unix_nano = line.ts
    span.end_time_unix_nano = line.ts + line.dur
    said = _attributes(line)
    made = [field for field, value in (("id", line.id), ("trace", line.trace)) if value is None]
    if made:
        said[names.MADE] = made
    own = line.id if line.id is not None else f"{line.proc}/{line.seq}"
    span.span_id, exact = span_id(own)
    if not exact and line.id is not None:
        said[_ROWS["id"]] = line.id
    span.trace_id, exact = trace_id(line.trace if line.trace is not None else own)
    if not exact and line.trace is not None:
        said[_ROWS["trace"]] = line.trace
    if line.parent is not None:
        span.parent_span_id, exact = span_id(line.parent)
        if not exact:
            said[_ROWS["parent"]] = line.parent
    said |= _fields(line, "lane", "task", "session", "step", "part")
    _status(span, line, said)
    attrs = line.attrs or {}
    kind = attrs.get(names.SPAN_KIND)
    span.kind = names.SPAN_KINDS.index(kind) if kind in names.SPAN_KINDS else 1
    if isinstance(state := attrs.get(names.TRACE_STATE), str):
        span.trace_state = state
    _links(span, attrs.get(names.LINKS))
    added = _derived(line, attrs)
    if added:
        said |= {names.ADDED: list(added), **added}
    add(span.attributes, said)


def _status(span: Any, line: Span, said: dict[str, Any]) -> None:
    if line.status == "ok":
        span.status.code = 1
    elif line.status is not None:
        span.status.code = 2
        if line.status != "error":
            said[_ROWS["status"]] = line.status
    if line.reason is not None:
        if span.status.code == 2 and line.reason:
            span.status.message = line.reason
        else:
            said[_ROWS["reason"]] = line.reason


def _derived(line: Span, attrs: dict[str, Any]) -> dict[str, Any]:
    """What others look for under names of theirs, where it is not there already."""
    added = {row.attribute: attrs[row.attr] for row in names.DERIVED if attrs.get(row.attr) is not None}
    operation = names.operation(line.part, line.name)
    if operation is not None:
        added[names.OPERATION] = operation
    if line.session is not None:
        added[names.CONVERSATION] = line.session
    return {key: value for key, value in added.items() if key not in attrs}


def _links(span: Any, links: Any) -> None:
    for link in links if isinstance(links, list) else ():
        if isinstance(link, dict) and isinstance(link.get("trace"), str) and isinstance(link.get("id"), str):
            made = span.links.add(trace_id=trace_id(link["trace"])[0], span_id=span_id(link["id"])[0])
            if isinstance(link.get("attrs"), dict):
                add(made.attributes, link["attrs"])


def _record(record: Any, line: Any) -> None:
    record.time_unix_nano = record.observed_time_unix_nano = line.ts
    put(record.body, line.name)
    said: dict[str, Any] = {} if type(line) in (Process, Lost) else _attributes(line)
    said |= {names.SEQ: line.seq}
    if type(line) is Log:
        record.severity_text, record.severity_number = line.level, names.severity(line.level)
        said |= {names.KIND: "log", **_fields(line, "logger")}
    elif type(line) is Fact:
        record.event_name, record.severity_number = line.name, names.severity("info")
        said |= {names.KIND: "fact", **_fields(line, "op", "peer", "outcome", "reason")}
        if line.attempt is not None:
            said[_ROWS["try"]] = line.attempt
        said |= {names.TAG + key: value for key, value in (line.tags or {}).items()}
    elif type(line) is Lost:
        record.event_name, record.severity_number = "rl.lost", names.severity("warning")
        said |= {names.KIND: "lost", **_fields(line, "count", "reason")}
    else:
        record.event_name, record.severity_number = "rl.process", names.severity("debug")
        said |= {names.KIND: "process", names.STATE.attribute: line.state}
        if line.clock_offset is not None:
            said[names.CLOCK_OFFSET.attribute] = line.clock_offset
        # Where it came from is told by the resource, anew by each collector.
        attrs = {key: value for key, value in (line.attrs or {}).items() if key != "otlp"}
        if attrs:
            said[names.PROCESS_ATTRS.attribute] = attrs
    if type(line) in (Log, Fact):
        _place(record, line, said)
    add(record.attributes, said)


def _place(record: Any, line: Any, said: dict[str, Any]) -> None:
    said |= _fields(line, "task", "session", "step")
    if line.trace is not None:
        record.trace_id, exact = trace_id(line.trace)
        if not exact:
            said[_ROWS["trace"]] = line.trace
    if line.parent is not None:
        record.span_id, exact = span_id(line.parent)
        if not exact:
            said[_ROWS["parent"]] = line.parent


def _attributes(line: Any) -> dict[str, Any]:
    attrs = line.attrs or {}
    said = {names.ESCAPE + key if key.startswith("rl.") else key: value for key, value in attrs.items()}
    said[names.SEQ] = line.seq
    return said


def _fields(line: Any, *fields: str) -> dict[str, Any]:
    return {_ROWS[field]: value for field in fields if (value := getattr(line, field)) is not None}
