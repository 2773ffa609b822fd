"""An engine as the collector sees it: a real `/metrics` with the names of vLLM, and targets that misbehave."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server


class Engine:
    """Serves metrics of its own registry. `restart` begins its counters anew, at the same address."""

    def __init__(self) -> None:
        self.port = 0
        self.start()

    def start(self) -> None:
        self.registry = CollectorRegistry()
        labels = {"model_name": "tiny", "engine": "0"}
        made: dict[str, Any] = {"registry": self.registry, "labelnames": tuple(labels)}
        self.running = Gauge("vllm:num_requests_running", "Requests under way.", **made).labels(**labels)
        self.cache = Gauge("vllm:kv_cache_usage_perc", "How full the KV cache is.", **made).labels(**labels)
        self.tokens = Counter("vllm:generation_tokens", "Tokens generated.", **made).labels(**labels)
        self.first = Histogram(
            "vllm:time_to_first_token_seconds", "Until the first token.", buckets=(0.1, 0.5, 1.0), **made
        ).labels(**labels)
        Gauge("process_noise", "What nobody looks at.", registry=self.registry).set(1)
        self._server, self._thread = start_http_server(self.port, "127.0.0.1", registry=self.registry)
        self.port = self._server.server_port
        self.address = f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def restart(self) -> None:
        self.stop()
        self.start()


@contextmanager
def running_engine() -> Iterator[Engine]:
    engine = Engine()
    try:
        yield engine
    finally:
        engine.stop()


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """The address of a server that answers every GET as told."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def body(text: bytes, status: int = 200) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer with this."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    return answer


def dripping(request: BaseHTTPRequestHandler) -> None:
    """A byte of the head now and then, for as long as somebody listens."""
    try:
        request.wfile.write(b"HTTP/1.0 200 OK\r\nX-Drip: ")
        while True:
            request.wfile.write(b"x")
            time.sleep(0.05)
    except OSError:
        return


def dead_address() -> str:
    """Where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"
