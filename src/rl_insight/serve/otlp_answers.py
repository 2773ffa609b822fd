"""What an OTLP client is told, in the encoding it speaks."""

from __future__ import annotations

from typing import Any

import msgspec
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.responses import Response

from rl_insight.collect.otlp import Outcome
from rl_insight.serve.problems import Problem

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
OTLP_PATHS = frozenset({"/v1/traces", "/v1/metrics", "/v1/logs"})

_ANSWERS: dict[str, tuple[Any, str, str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans", "rejectedSpans"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points", "rejectedDataPoints"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records", "rejectedLogRecords"),
}
# google.rpc.Code for the HTTP statuses that are answered here.
_CODES = {400: 3, 401: 16, 403: 7, 408: 4, 409: 9, 413: 8, 415: 3, 429: 8, 500: 13, 503: 14}


def content_type(header: str, otherwise: Any = JSON) -> Any:
    """The content type of a request without its parameters, if it is one of OTLP's."""
    kind = header.partition(";")[0].strip().lower()
    return kind if kind in (PROTOBUF, JSON) else otherwise


def refusal(problem: Problem, kind: str) -> Response:
    """A problem as a `google.rpc.Status`, in the request's encoding."""
    code = _CODES.get(problem.status, 13)
    if kind == PROTOBUF:
        body = Status(code=code, message=problem.error).SerializeToString()
    else:
        body = msgspec.json.encode({"code": code, "message": problem.error})
    return Response(body, problem.status, headers=problem.headers, media_type=kind)


def success(signal: str, kind: str, outcome: Outcome) -> bytes:
    """Everything was kept, or how much was not and why."""
    message, field, camel = _ANSWERS[signal]
    if kind == JSON:
        if not outcome.rejected:
            return b"{}"
        # Whole numbers of 64 bits are text in protobuf's JSON.
        return msgspec.json.encode({"partialSuccess": {camel: str(outcome.rejected), "errorMessage": outcome.message}})
    answer = message()
    if outcome.rejected:
        setattr(answer.partial_success, field, outcome.rejected)
        answer.partial_success.error_message = outcome.message
    return bytes(answer.SerializeToString())
