"""A small OTLP/HTTP receiver for the tests of exporters: decodes with OpenTelemetry's protobufs, keeps what it took."""

from __future__ import annotations

import gzip
import threading
from collections import deque
from collections.abc import Callable
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_KINDS: dict[str, Any] = {
    "traces": ExportTraceServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "logs": ExportLogsServiceRequest,
}


class Taken(NamedTuple):
    """One request as it came."""

    signal: str
    headers: Message
    message: Any


class Reply(NamedTuple):
    """What is answered instead of 200."""

    status: int
    headers: dict[str, str] = {}
    body: bytes = b""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        sink = self.server.sink
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.headers["Content-Type"] == "application/x-protobuf"
        signal = self.path.rpartition("/")[2]
        taken = Taken(signal, self.headers, _KINDS[signal].FromString(body))
        with sink.lock:
            sink.requests.append(taken)
            reply = sink.plan.popleft() if sink.plan else sink.behaviour(taken)
            if reply is None:
                sink.accepted.append(taken)
        self._answer(reply or Reply(200))

    def _answer(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on stderr."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    sink: Sink

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is what these tests are about."""


class Sink:
    """Accepts at `url`; `plan` answers the next requests, `behaviour` the others. None means: taken."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.requests: list[Taken] = []
        self.accepted: list[Taken] = []
        self.plan: deque[Reply | None] = deque()
        self.behaviour: Callable[[Taken], Reply | None] = lambda taken: None
        self.port = 0
        self._server: _Server | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, on the same port as before."""
        self._server = _Server(("127.0.0.1", self.port), _Handler)
        self._server.sink = self
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def spans(self) -> list[Any]:
        with self.lock:
            return [
                span
                for taken in self.accepted
                if taken.signal == "traces"
                for group in taken.message.resource_spans
                for scope in group.scope_spans
                for span in scope.spans
            ]

    def records(self) -> list[Any]:
        with self.lock:
            return [
                record
                for taken in self.accepted
                if taken.signal == "logs"
                for group in taken.message.resource_logs
                for scope in group.scope_logs
                for record in scope.log_records
            ]

    def metrics(self) -> list[Any]:
        with self.lock:
            return [
                metric
                for taken in self.accepted
                if taken.signal == "metrics"
                for group in taken.message.resource_metrics
                for scope in group.scope_metrics
                for metric in scope.metrics
            ]
