"""Runs the server of a data folder until it is told to stop."""

from __future__ import annotations

import contextlib
import errno
import gc
import logging
import logging.config
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from rl_insight import config
from rl_insight.serve import address
from rl_insight.serve.app import create_app
from rl_insight.serve.auth import is_loopback, token_for
from rl_insight.serve.protocol import BoundedHttpProtocol
from rl_insight.serve.service import Service
from rl_insight.version import __version__

logger = logging.getLogger("rl_insight.serve")

# Recorders keep their connection between flushes and heartbeats.
KEEP_ALIVE_SECONDS = 75
# How long a stopping server waits for requests that are under way.
DRAIN_SECONDS = 10
AUTO_PORTS = 100


class PortTaken(RuntimeError):
    """Something else listens on the wanted port."""


class _Server(uvicorn.Server):
    """uvicorn, telling the service at once that a stop was asked for, and leaving the exit to the caller."""

    def __init__(self, settings: uvicorn.Config, service: Service, ready: Callable[[], None]) -> None:
        super().__init__(settings)
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.begin_stop()
        super().handle_exit(sig, frame)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Switch:
    """Ends a server that runs in another thread, in order, as a signal would."""

    def __init__(self) -> None:
        self._server: _Server | None = None
        self._off = False

    def off(self) -> None:
        """Stop the server, now or as soon as there is one."""
        self._off = True
        if self._server is not None:
            self._server.handle_exit(signal.SIGTERM, None)

    def connect(self, server: _Server) -> None:
        """This is the one to stop."""
        self._server = server
        if self._off:
            self.off()


def serve(
    data_dir: Path,
    settings: config.Collector,
    open_service: Callable[[], Service],
    *,
    auto_port: bool = False,
    ready: Callable[[address.Address, str], None] | None = None,
    switch: Switch | None = None,
) -> None:
    """Serve a data folder until SIGINT, SIGTERM or the `switch`; `ready` is told the address and the token."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A batch decodes into thousands of dicts that live for a moment and are in no cycle: looking for cycles each time
    # would cost a tenth of the checking.
    gc.set_threshold(50_000, 20, 20)
    with address.locked(data_dir):
        token = token_for(data_dir, settings.host, settings.token)
        with contextlib.ExitStack() as sockets:
            listener = sockets.enter_context(
                contextlib.closing(bind(settings.host, settings.port, auto_port=auto_port))
            )
            listeners = [listener]
            if settings.otlp_port:
                # The same application under the port that OpenTelemetry's exporters try by themselves.
                second = bind(settings.host, settings.otlp_port, auto_port=auto_port, option="collector.otlp_port")
                listeners.append(sockets.enter_context(contextlib.closing(second)))
            port = listener.getsockname()[1]
            found = address.Address(
                pid=os.getpid(),
                url=url_of(settings.host, port),
                host=settings.host,
                port=port,
                version=__version__,
                started=time.time_ns(),
                token=bool(token),
            )
            _raise_file_limit()
            service = open_service()
            service.otlp_port = listeners[-1].getsockname()[1]

            def announce() -> None:
                address.write(data_dir, found)
                if ready is not None:
                    ready(found, token)

            try:
                _run(service, token, listeners, announce, switch)
            finally:
                service.begin_stop()
                service.close()
                address.remove(data_dir)


def _run(
    service: Service, token: str, listeners: list[socket.socket], announce: Callable[[], None], switch: Switch | None
) -> None:
    server = _Server(
        uvicorn.Config(
            create_app(service, token=token),
            http=BoundedHttpProtocol,
            ws="none",
            loop="auto",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            backlog=2048,
        ),
        service,
        announce,
    )
    if switch is not None:
        switch.connect(server)
    server.run(sockets=listeners)


def bind(host: str, port: int, *, auto_port: bool, option: str = "--port") -> socket.socket:
    """A listening socket on the wanted port or, with `auto_port`, on the next free one."""
    candidates = [port, *(range(port + 1, min(port + AUTO_PORTS, 65536)) if auto_port and port else ())]
    for candidate in candidates:
        listener = _bind(host, candidate)
        if listener is not None:
            return listener
    hint = f"choose another with {option}" + ("" if auto_port else ", or let --auto-port find one")
    raise PortTaken(f"port {port} on {host} is taken by another program; {hint}")


def _bind(host: str, port: int) -> socket.socket | None:
    """A listening socket, or None when the port is taken."""
    listener = None
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        # Linux lets two sockets bind one port until one of them listens.
        listener.listen(2048)
    except OSError as error:
        if listener is not None:
            listener.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise PortTaken(
            f"cannot listen on {host} port {port}: {error.strerror or error}; choose another with --host and --port"
        ) from None
    return listener


def url_of(host: str, port: int) -> str:
    """The URL others use: a wildcard bind is known by the machine's name."""
    if host in ("", "0.0.0.0", "::"):
        host = socket.gethostname()
    elif is_loopback(host) and host != "localhost" and ":" not in host:
        host = "127.0.0.1" if host.startswith("127.") else host
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _raise_file_limit() -> None:
    """Thousands of recorders keep a connection each."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))


def configure_logging(log_file: Path | None = None) -> None:
    """Warnings and notices to stderr, or to a file that is kept small."""
    handler: dict[str, Any] = {"class": "logging.StreamHandler", "formatter": "plain"}
    if log_file is not None:
        handler = {
            "class": "logging.handlers.RotatingFileHandler",
            "filename": str(log_file),
            "maxBytes": 5 * 2**20,
            "backupCount": 1,
            "formatter": "plain",
        }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(message)s"}},
            "handlers": {"out": handler},
            "root": {"handlers": ["out"], "level": "INFO"},
            "loggers": {"uvicorn.error": {"level": "ERROR"}, "uvicorn.access": {"level": "ERROR"}},
        }
    )
