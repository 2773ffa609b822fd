"""OTLP/JSON, in structs that read like the protobuf messages: the rest of the receiver need not know which it has.

Ids are hexadecimal here and bytes there, whole numbers may come as text, unknown fields are passed over.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class BadMessage(ValueError):
    """The body is not what its content type says; nothing of it can be read."""


class _Message(msgspec.Struct, rename="camel", omit_defaults=True):
    pass


class AnyValue(_Message):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | None = None
    double_value: float | None = None
    array_value: ArrayValue | None = None
    kvlist_value: KeyValueList | None = None
    bytes_value: str | None = None


class ArrayValue(_Message):
    values: list[AnyValue | None] = []


class KeyValueList(_Message):
    values: list[KeyValue] = []


class KeyValue(_Message):
    key: str = ""
    value: AnyValue | None = None


class Resource(_Message):
    attributes: list[KeyValue] = []


class Scope(_Message):
    name: str = ""
    version: str = ""
    attributes: list[KeyValue] = []


class Status(_Message):
    message: str = ""
    code: int = 0


class Event(_Message):
    time_unix_nano: int = 0
    name: str = ""
    attributes: list[KeyValue] = []


class Link(_Message):
    trace_id: str = ""
    span_id: str = ""
    trace_state: str = ""
    attributes: list[KeyValue] = []


class Span(_Message):
    trace_id: str = ""
    span_id: str = ""
    trace_state: str = ""
    parent_span_id: str = ""
    flags: int = 0
    name: str = ""
    kind: int = 0
    start_time_unix_nano: int = 0
    end_time_unix_nano: int = 0
    attributes: list[KeyValue] = []
    dropped_attributes_count: int = 0
    events: list[Event] = []
    links: list[Link] = []
    status: Status = msgspec.field(default_factory=Status)


class ScopeSpans(_Message):
    scope: Scope = msgspec.field(default_factory=Scope)
    spans: list[Span] = []


class ResourceSpans(_Message):
    resource: Resource = msgspec.field(default_factory=Resource)
    scope_spans: list[ScopeSpans] = []


class Traces(_Message):
    resource_spans: list[ResourceSpans] = []


class LogRecord(_Message):
    time_unix_nano: int = 0
    observed_time_unix_nano: int = 0
    severity_number: int = 0
    severity_text: str = ""
    body: AnyValue | None = None
    attributes: list[KeyValue] = []
    dropped_attributes_count: int = 0
    flags: int = 0
    trace_id: str = ""
    span_id: str = ""
    event_name: str = ""


class ScopeLogs(_Message):
    scope: Scope = msgspec.field(default_factory=Scope)
    log_records: list[LogRecord] = []


class ResourceLogs(_Message):
    resource: Resource = msgspec.field(default_factory=Resource)
    scope_logs: list[ScopeLogs] = []


class Logs(_Message):
    resource_logs: list[ResourceLogs] = []


class Exemplar(_Message):
    filtered_attributes: list[KeyValue] = []
    time_unix_nano: int = 0
    as_double: float | None = None
    as_int: int | None = None
    span_id: str = ""
    trace_id: str = ""


class NumberDataPoint(_Message):
    attributes: list[KeyValue] = []
    start_time_unix_nano: int = 0
    time_unix_nano: int = 0
    as_double: float | None = None
    as_int: int | None = None
    exemplars: list[Exemplar] = []
    flags: int = 0


class Numbers(_Message):
    """A gauge or a sum."""

    data_points: list[NumberDataPoint] = []
    aggregation_temporality: int = 0
    is_monotonic: bool = False


class HistogramDataPoint(_Message):
    attributes: list[KeyValue] = []
    start_time_unix_nano: int = 0
    time_unix_nano: int = 0
    count: int = 0
    sum: float | None = None
    bucket_counts: list[int] = []
    explicit_bounds: list[float] = []
    exemplars: list[Exemplar] = []
    flags: int = 0


class Histogram(_Message):
    data_points: list[HistogramDataPoint] = []
    aggregation_temporality: int = 0


class Buckets(_Message):
    offset: int = 0
    bucket_counts: list[int] = []


class ExponentialDataPoint(_Message):
    attributes: list[KeyValue] = []
    start_time_unix_nano: int = 0
    time_unix_nano: int = 0
    count: int = 0
    sum: float | None = None
    scale: int = 0
    zero_count: int = 0
    positive: Buckets = msgspec.field(default_factory=Buckets)
    negative: Buckets = msgspec.field(default_factory=Buckets)
    flags: int = 0
    exemplars: list[Exemplar] = []
    zero_threshold: float = 0.0


class ExponentialHistogram(_Message):
    data_points: list[ExponentialDataPoint] = []
    aggregation_temporality: int = 0


class Quantile(_Message):
    quantile: float = 0.0
    value: float = 0.0


class SummaryDataPoint(_Message):
    attributes: list[KeyValue] = []
    start_time_unix_nano: int = 0
    time_unix_nano: int = 0
    count: int = 0
    sum: float = 0.0
    quantile_values: list[Quantile] = []
    flags: int = 0


class Summary(_Message):
    data_points: list[SummaryDataPoint] = []


class Metric(_Message):
    name: str = ""
    description: str = ""
    unit: str = ""
    gauge: Numbers | None = None
    sum: Numbers | None = None
    histogram: Histogram | None = None
    exponential_histogram: ExponentialHistogram | None = None
    summary: Summary | None = None


class ScopeMetrics(_Message):
    scope: Scope = msgspec.field(default_factory=Scope)
    metrics: list[Metric] = []


class ResourceMetrics(_Message):
    resource: Resource = msgspec.field(default_factory=Resource)
    scope_metrics: list[ScopeMetrics] = []


class Metrics(_Message):
    resource_metrics: list[ResourceMetrics] = []


_PROTOBUF: dict[str, Any] = {
    "traces": ExportTraceServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "logs": ExportLogsServiceRequest,
}
_JSON: dict[str, msgspec.json.Decoder[Any]] = {
    "traces": msgspec.json.Decoder(Traces, strict=False),
    "metrics": msgspec.json.Decoder(Metrics, strict=False),
    "logs": msgspec.json.Decoder(Logs, strict=False),
}
_DATA = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
_MAX_DEPTH = 32


def read(signal: str, body: bytes, *, as_json: bool) -> Any:
    """The request in a body of OTLP/HTTP; raises `BadMessage`, saying where it went wrong if that is known."""
    try:
        return _JSON[signal].decode(body) if as_json else _PROTOBUF[signal].FromString(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadMessage(f"the body is not OTLP/JSON {signal}: {error}") from None
    except DecodeError as error:
        raise BadMessage(f"the body is not an OTLP protobuf message of {signal}: {error}") from None


def hex_of(identity: bytes | str) -> str:
    """An id as hexadecimal digits; empty for none, which all zeros mean too. Raises ValueError for what is no id."""
    text = identity.hex() if isinstance(identity, bytes) else bytes.fromhex(identity).hex()
    return text if text.strip("0") else ""


def attributes(pairs: Any) -> dict[str, Any]:
    """Key-value pairs as a dict of JSON values; of equal keys the last counts."""
    return {pair.key: plain(pair.value) for pair in pairs}


def plain(value: Any, depth: int = 0) -> Any:
    """What an AnyValue says, as a JSON value. Bytes are base64, as OTLP/JSON has them."""
    if value is None:
        return None
    if isinstance(value, AnyValue):
        return _plain_json(value, depth)
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [plain(item, depth + 1) for item in value.array_value.values] if depth < _MAX_DEPTH else "<too deep>"
    if kind == "kvlist_value":
        pairs = value.kvlist_value.values
        return {pair.key: plain(pair.value, depth + 1) for pair in pairs} if depth < _MAX_DEPTH else "<too deep>"
    said = getattr(value, kind)
    return base64.b64encode(said).decode() if kind == "bytes_value" else said


def _plain_json(value: AnyValue, depth: int) -> Any:
    if value.array_value is not None:
        return [plain(item, depth + 1) for item in value.array_value.values] if depth < _MAX_DEPTH else "<too deep>"
    if value.kvlist_value is not None:
        pairs = value.kvlist_value.values
        return {pair.key: plain(pair.value, depth + 1) for pair in pairs} if depth < _MAX_DEPTH else "<too deep>"
    for said in (value.string_value, value.bool_value, value.int_value, value.double_value, value.bytes_value):
        if said is not None:
            return said
    return None


def data_of(metric: Any) -> tuple[str, Any]:
    """Which kind of metric it is, and its data; ("", None) for one without."""
    if isinstance(metric, Metric):
        for kind in _DATA:
            data = getattr(metric, kind)
            if data is not None:
                return kind, data
        return "", None
    kind = metric.WhichOneof("data") or ""
    return kind, getattr(metric, kind) if kind else None


def number_of(point: Any) -> float | None:
    """The number of a data point or an exemplar; None for one without."""
    if isinstance(point, (NumberDataPoint, Exemplar)):
        return point.as_double if point.as_double is not None else None if point.as_int is None else float(point.as_int)
    kind = point.WhichOneof("value")
    return float(getattr(point, kind)) if kind else None


def sum_of(point: Any) -> float | None:
    """The sum of a histogram's data point, which it may lack."""
    if isinstance(point, (HistogramDataPoint, ExponentialDataPoint)):
        return point.sum
    return float(point.sum) if point.HasField("sum") else None
