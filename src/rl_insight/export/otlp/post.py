"""One connection to a destination: posts a request and reads the answer by the rules of OTLP/HTTP."""

from __future__ import annotations

import contextlib
import email.utils
import gzip
import http.client
import socket
import time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from rl_insight.export.otlp.destination import Destination
from rl_insight.version import __version__

RETRYABLE = frozenset({429, 502, 503, 504})
EXPORTER_HEADER = "rl-insight-exporter"
COLLECTOR_HEADER = "rl-insight-collector"

_ANSWERS: dict[str, tuple[Any, str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records"),
}
_MAX_ANSWER = 2**20


class Answer(NamedTuple):
    """What a destination said. `status` 0: it could not be reached. `collector`: it is one of ours, of this name."""

    status: int
    rejected: int = 0
    message: str = ""
    retry_after: float = 0.0
    collector: str = ""

    @property
    def again(self) -> bool:
        """Whether the same request may be sent again."""
        return self.status == 0 or self.status in RETRYABLE


class Post:
    """Connections to one destination, one a server, kept open."""

    def __init__(self, destination: Destination, collector_id: str) -> None:
        self._destination = destination
        self._headers = {
            "Content-Type": "application/x-protobuf",
            "User-Agent": f"rl-insight/{__version__}",
            EXPORTER_HEADER: collector_id,
            **destination.headers,
        }
        self._connections: dict[str, http.client.HTTPConnection] = {}

    def send(self, signal: str, body: bytes) -> Answer:
        """Post a request of a signal. Never raises for what the network or the other side does."""
        url = self._destination.urls[signal]
        headers = self._headers
        if self._destination.gzip:
            body, headers = gzip.compress(body, compresslevel=1), {**headers, "Content-Encoding": "gzip"}
        try:
            return self._answer(signal, *self._post_again(url, body, headers))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            return Answer(0, message=f"{self._destination.shown()} is not reachable: {error or type(error).__name__}")

    def abort(self) -> None:
        """Cut the connections under whoever waits for an answer on them."""
        for connection in list(self._connections.values()):
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close all connections; the next request opens another."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _post_again(self, url: str, body: bytes, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
        """Post, a second time when the connection was an old one that the other side had closed meanwhile."""
        old = urlsplit(url).netloc in self._connections
        try:
            return self._post(url, body, headers)
        except (ConnectionError, http.client.BadStatusLine):
            if not old:
                raise
            self.close()
            return self._post(url, body, headers)

    def _post(self, url: str, body: bytes, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
        parts = urlsplit(url)
        connection = self._connections.get(parts.netloc)
        if connection is None:
            connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            assert parts.hostname is not None
            connection = connect(parts.hostname, parts.port, timeout=self._destination.timeout)
            self._connections[parts.netloc] = connection
        connection.request("POST", parts.path + (f"?{parts.query}" if parts.query else ""), body, headers)
        response = connection.getresponse()
        content = response.read(_MAX_ANSWER)
        if response.will_close or not response.isclosed():
            connection.close()
            self._connections.pop(parts.netloc, None)
        return response, content

    def _answer(self, signal: str, response: http.client.HTTPResponse, content: bytes) -> Answer:
        collector = response.getheader(COLLECTOR_HEADER) or ""
        binary = (response.getheader("Content-Type") or "").startswith("application/x-protobuf")
        if 200 <= response.status < 300:
            kind, field = _ANSWERS[signal]
            try:
                partial = kind.FromString(content).partial_success if binary else kind().partial_success
            except DecodeError:
                partial = kind().partial_success
            rejected = int(getattr(partial, field))
            return Answer(response.status, rejected, partial.error_message, collector=collector)
        said = content[:500].decode(errors="replace")
        if binary:
            try:
                said = Status.FromString(content).message
            except DecodeError:
                said = ""
        message = (
            f"{self._destination.shown()} answered {response.status} to {signal}: {said.strip() or response.reason}"
        )
        return Answer(response.status, 0, message, _wait(response.getheader("Retry-After")), collector)


def _wait(retry_after: str | None) -> float:
    """Seconds to wait, from a number of them or a date."""
    if not retry_after:
        return 0.0
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0
