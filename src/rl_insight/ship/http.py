"""A sink that posts lines to a collector over HTTP, on one connection kept open."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from rl_insight.ship.sink import Ack, Batch, Refused, TooLarge, Unavailable
from rl_insight.version import __version__

if TYPE_CHECKING:
    import http.client

LINES_PATH = "/v1/lines"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

# Below this a batch travels in one or two packets anyway.
_WORTH_COMPRESSING = 4096


class HttpSink:
    """Posts batches to `URL/v1/lines`. Compression "auto" means none on this machine, else zstd, else gzip."""

    def __init__(self, url: str, token: str = "", *, compression: str = "auto", timeout: float = 10.0) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"server.url {url!r} is not of the form http://host:port")
        if parts.username or parts.password:
            raise ValueError("server.url holds a user or password; set server.token (RL_INSIGHT_TOKEN) instead")
        try:
            self._port = parts.port
        except ValueError:
            raise ValueError(f"server.url {url!r} names no port that there is") from None
        # The link that a server prints for people carries its token; it works here as well.
        token = token.strip() or "".join(parse_qs(parts.query).get("token", [])[:1])
        if not (token.isascii() and token.isprintable()):
            raise ValueError("server.token (RL_INSIGHT_TOKEN) holds a character that no token has")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.token = token
        self._parts = parts
        self._timeout = timeout
        self._headers = {"Content-Type": "application/x-ndjson", "User-Agent": f"rl-insight/{__version__}"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._encoding, self._compress = _compressor(compression, parts.hostname)
        self._connection: http.client.HTTPConnection | None = None

    @property
    def destination(self) -> str:
        """Lines for one address are not delivered to another."""
        return self.url

    def send(self, batch: Batch) -> Ack:
        """Post a batch and read the answer."""
        body, headers = batch.body, self._headers
        if self._encoding and len(body) >= _WORTH_COMPRESSING:
            body, headers = self._compress(body), {**headers, "Content-Encoding": self._encoding}
        try:
            response, answer = self._post_again(body, headers)
        except (OSError, EOFError, ValueError) as error:
            self.close()
            raise Unavailable(f"{self.url} is not reachable: {_short(error)}") from None
        except Exception as error:  # http.client's own errors; imported only once a connection exists
            self.close()
            raise Unavailable(f"{self.url} broke off: {_short(error)}") from None
        if response.status == 200 and isinstance(answer.get("accepted"), int):
            return Ack(answer["accepted"], _whole(answer.get("duplicates")) or 0, _whole(answer.get("clock")))
        message = f"{self.url} answered {response.status}: {answer.get('error') or response.reason}"
        if response.status == 413:
            raise TooLarge(message, _whole(answer.get("limit")))
        # Only a collector that names the bad line has read the batch; a proxy's 400 says nothing about it.
        if response.status == 400 and "line" in answer:
            raise Refused(message)
        if response.status == 415:
            self._encoding = ""
        if response.status == 200:
            message = f"{self.url} answered, but not as a collector does; is it the right address?"
        raise Unavailable(message, _seconds(response.getheader("Retry-After")))

    def close(self) -> None:
        """Close the connection; the next batch opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def abandon(self) -> None:
        """In a forked child: close our end of the parent's connection and say nothing on it."""
        socket = getattr(self._connection, "sock", None)
        self._connection = None
        if socket is not None:
            os.close(socket.detach())

    def describe(self) -> str:
        """Where the lines go."""
        return self.url

    def _post_again(self, body: bytes, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, dict[str, Any]]:
        """Post, a second time when the connection was an old one that the other side had closed meanwhile."""
        old = self._connection is not None
        try:
            return self._post(body, headers)
        except ConnectionError:
            if not old:
                raise
            self.close()
            return self._post(body, headers)

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, dict[str, Any]]:
        import http.client

        if self._connection is None:
            secure = self._parts.scheme == "https"
            connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            assert self._parts.hostname is not None
            self._connection = connect(self._parts.hostname, self._port, timeout=self._timeout)
        self._connection.request("POST", self._parts.path.rstrip("/") + LINES_PATH, body, headers)
        response = self._connection.getresponse()
        content = response.read(1 << 20)
        if response.will_close:
            self.close()
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        return response, answer if isinstance(answer, dict) else {}


def _compressor(compression: str, host: str) -> tuple[str, Callable[[bytes], bytes]]:
    if compression == "none" or (compression == "auto" and host in _LOOPBACK):
        return "", bytes
    if compression in ("auto", "zstd"):
        try:
            import zstandard

            return "zstd", zstandard.ZstdCompressor(level=1).compress
        except ImportError:
            if compression == "zstd":
                raise ValueError('compression "zstd" needs the zstandard package: pip install zstandard') from None
    return "gzip", lambda body: gzip.compress(body, compresslevel=1)


def _seconds(retry_after: str | None) -> float:
    try:
        return max(0.0, float(retry_after or 0))
    except ValueError:
        return 0.0


def _whole(value: Any) -> int | None:
    return value if type(value) is int and abs(value) < 2**63 else None


def _short(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
