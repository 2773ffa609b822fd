"""One read of a target's metrics, bounded in time and size."""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from urllib.parse import urlsplit

from rl_insight.version import __version__

# Nothing else: an engine asked for OpenMetrics by one who does not say how names are escaped may change its own.
ACCEPT = "text/plain;version=0.0.4;q=1,text/plain;q=0.5,*/*;q=0.1"
_CHUNK = 64 * 2**10


class FetchFailed(Exception):
    """A target that did not give its metrics, and what that means."""


class Fetch:
    """One request, which another thread may end."""

    def __init__(self, url: str, *, timeout: float, max_bytes: int) -> None:
        self.url = url
        self.timeout = timeout
        self.max_bytes = max_bytes
        self.deadline = time.monotonic() + timeout
        self._connection: http.client.HTTPConnection | None = None
        self._ended = False

    def read(self) -> tuple[bytes, str]:
        """Body and content type; raises `FetchFailed`."""
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        assert parts.hostname is not None
        connection = self._connection = kind(parts.hostname, parts.port, timeout=self.timeout)
        try:
            connection.request("GET", parts.path, headers={"Accept": ACCEPT, "User-Agent": f"rl-insight/{__version__}"})
            response = connection.getresponse()
            if response.status != 200:
                raise FetchFailed(
                    f"{self.url} answered {response.status} {response.reason}; are its metrics at another path?"
                )
            return self._body(response), response.getheader("Content-Type", "") or ""
        except (OSError, http.client.HTTPException, ValueError) as error:
            if self._ended or isinstance(error, TimeoutError):
                raise self._late() from None
            raise FetchFailed(f"{self.url} is not reachable: {_short(error)}") from None
        finally:
            connection.close()

    def end(self) -> None:
        """Break off: a target that sends a byte now and then must not hold a thread for ever."""
        self._ended = True
        sock = getattr(self._connection, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while piece := response.read1(_CHUNK):
            size += len(piece)
            if size > self.max_bytes:
                raise FetchFailed(
                    f"{self.url} answered over {self.max_bytes} bytes (collector.scrape.max_bytes); is that metrics?"
                )
            if time.monotonic() > self.deadline:
                raise self._late()
            pieces.append(piece)
        if self._ended:
            raise self._late()
        return b"".join(pieces)

    def _late(self) -> FetchFailed:
        return FetchFailed(f"{self.url} did not answer within {self.timeout:g} s (collector.scrape.timeout)")


def _short(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
