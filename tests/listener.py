"""A small collector for the tests of senders: it keeps what it accepts, and misbehaves as it is told to."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import zstandard

from recorded import Line, decoded
from rl_insight.schema import BadLine, decode_lines

Behaviour = Callable[["Request"], None]


class Post(NamedTuple):
    """One batch as it came."""

    path: str
    headers: Message
    raw: bytes
    body: bytes
    client: tuple[str, int]
    connection: socket.socket


class Request(BaseHTTPRequestHandler):
    """A connection, and the batch on it that waits for an answer."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        listener = self.server.listener
        self.raw = self.rfile.read(int(self.headers["Content-Length"]))
        self.body = _decompressed(self.raw, self.headers.get("Content-Encoding", ""))
        post = Post(self.path, self.headers, self.raw, self.body, self.client_address, self.connection)
        with listener.lock:
            listener.requests.append(post)
            behave = listener.plan.popleft() if listener.plan else listener.behaviour
        behave(self)

    def answer(self, status: int, headers: dict[str, str] | None = None, body: Any = None) -> None:
        said = (
            body if isinstance(body, bytes) else json.dumps(body if body is not None else {"error": "told to"}).encode()
        )
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on stderr."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    listener: Listener

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is what these tests are about."""


class Listener:
    """Accepts at `url`; `behaviour` answers every request, or `plan` the next ones."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.requests: list[Post] = []
        self.accepted: list[bytes] = []
        self.marks: dict[str, int] = {}
        self.duplicates = 0
        self.behaviour: Behaviour = accept
        self.plan: deque[Behaviour] = deque()
        self.port = 0
        self._server: _Server | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, on the same port as before."""
        self._server = _Server(("127.0.0.1", self.port), Request)
        self._server.listener = self
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Cut every connection and listen no more."""
        if self._server is not None:
            self.behaviour, kept = drop, self.behaviour
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            with self.lock:
                for post in self.requests:
                    _shut(post.connection)
            self.behaviour = kept

    def lines(self) -> list[Line]:
        """What was accepted, in the order it came."""
        with self.lock:
            return decoded(b"".join(self.accepted))


def accept(request: Request) -> None:
    """What a collector does: refuse what is no line, keep what is new."""
    listener = request.server.listener
    try:
        lines = decode_lines(request.body)
    except BadLine as bad:
        request.answer(400, body={"error": str(bad), "line": bad.number, "path": bad.path})
        return
    with listener.lock:
        kept = []
        for line, raw in zip(lines, request.body.splitlines(keepends=True), strict=True):
            if line.seq > listener.marks.get(line.proc, 0):
                listener.marks[line.proc] = line.seq
                kept.append(raw)
        listener.accepted.append(b"".join(kept))
        duplicates = len(lines) - len(kept)
        listener.duplicates += duplicates
    request.answer(200, body={"accepted": len(kept), "duplicates": duplicates, "clock": time.time_ns()})


def status(code: int, body: Any = None, **headers: str) -> Behaviour:
    """Answer with a status, and take nothing."""
    return lambda request: request.answer(
        code, {name.replace("_", "-"): value for name, value in headers.items()}, body
    )


def drop(request: Request) -> None:
    """Close the connection without an answer."""
    _cut(request)


def hang(request: Request) -> None:
    """Answer nothing until the other side gives up."""
    request.connection.settimeout(60)
    request.connection.recv(1)
    _cut(request)


def drop_amid_the_answer(request: Request) -> None:
    """Take the batch, and break off before the answer is whole: the sender cannot know."""
    listener = request.server.listener
    with listener.lock:
        for line in decode_lines(request.body):
            assert line.seq == listener.marks.get(line.proc, 0) + 1
            listener.marks[line.proc] = line.seq
        listener.accepted.append(request.body)
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
    request.wfile.flush()
    _cut(request)


def _cut(request: Request) -> None:
    request.close_connection = True
    _shut(request.connection)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _decompressed(body: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(body)
    return zstandard.ZstdDecompressor().decompress(body) if encoding == "zstd" else body
