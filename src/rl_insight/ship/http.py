"""A sink that posts lines to a collector over HTTP, on one connection kept open."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

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
            raise ValueError(f"server url {url!r} is not of the form http://host:port")
        self.url = parts.geturl().rstrip("/")
        self.token = token
        self._parts = parts
        self._timeout = timeout
        self._headers = {"Content-Type": "application/x-ndjson", "User-Agent": f"rl-insight/{__version__}"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._encoding, self._compress = _compressor(compression, parts.hostname)
        self._connection: http.client.HTTPConnection | None = None

    def send(self, batch: Batch) -> Ack:
        """Post a batch and read the answer."""
        body, headers = batch.body, self._headers
        if self._encoding and len(body) >= _WORTH_COMPRESSING:
            body, headers = self._compress(body), {**headers, "Content-Encoding": self._encoding}
        try:
            response, answer = self._post(body, headers)
        except (OSError, EOFError, ValueError) as error:
            self.close()
            raise Unavailable(f"{self.url} is not reachable: {_short(error)}") from None
        except Exception as error:  # http.client's own errors; imported only once a connection exists
            self.close()
            raise Unavailable(f"{self.url} broke off: {_short(error)}") from None
        if response.status == 200:
            return Ack(answer.get("accepted", batch.lines), answer.get("duplicates", 0), answer.get("clock"))
        message = f"{self.url} answered {response.status}: {answer.get('error') or response.reason}"
        if response.status == 413:
            raise TooLarge(message)
        if response.status in (400, 415, 422):
            raise Refused(message)
        raise Unavailable(message, _seconds(response.getheader("Retry-After")))

    def close(self) -> None:
        """Close the connection; the next batch opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def describe(self) -> str:
        """Where the lines go."""
        return self.url

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, dict[str, Any]]:
        import http.client

        if self._connection is None:
            secure = self._parts.scheme == "https"
            connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            assert self._parts.hostname is not None
            self._connection = connect(self._parts.hostname, self._parts.port, timeout=self._timeout)
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


def _short(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
