"""Talks to a running server over its HTTP API, for the commands that work beside one."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from rl_insight.cli.trouble import Trouble
from rl_insight.serve import address


class Client:
    """One server; a connection per request, since commands make few."""

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0) -> None:
        self.url = url.rstrip("/")
        self.token = token
        self.timeout = timeout

    def get(self, path: str) -> Any:
        return self._call("GET", path)

    def post(self, path: str, body: Any) -> Any:
        return self._call("POST", path, msgspec.json.encode(body))

    def delete(self, path: str) -> Any:
        return self._call("DELETE", path)

    def follow(self, path: str) -> Iterator[bytes]:
        """The lines of an endless answer, one by one, until the server ends it."""
        connection, response = self._request("GET", path, None, timeout=None)
        try:
            while raw := response.readline():
                yield raw
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def _call(self, method: str, path: str, body: bytes | None = None) -> Any:
        connection, response = self._request(method, path, body, timeout=self.timeout)
        try:
            return msgspec.json.decode(response.read())
        except (OSError, http.client.HTTPException, msgspec.DecodeError) as error:
            raise Trouble(
                f"the answer of {self.url} could not be read: {error}", "is that an RL-Insight server?"
            ) from None
        finally:
            connection.close()

    def _request(
        self, method: str, path: str, body: bytes | None, *, timeout: float | None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = kind(parts.hostname or "", parts.port, timeout=self.timeout)
        try:
            connection.connect()
            assert connection.sock is not None
            connection.sock.settimeout(timeout)
            connection.request(method, parts.path + path, body=body, headers=headers)
            response = connection.getresponse()
        except TimeoutError:
            connection.close()
            raise Trouble(
                f"{self.url} did not answer within {self.timeout:.0f} s",
                "is the machine overloaded? 'rl-insight doctor' looks closer",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(
                f"no server answers at {self.url}: {error}",
                "start one with 'rl-insight server start', or check the address",
            ) from None
        if response.status >= 400:
            try:
                raise refusal(self.url, response.status, response.read())
            finally:
                connection.close()
        return connection, response


class Unreachable(Trouble):
    """Nothing listens there."""


class WrongToken(Trouble):
    """The server is there, and does not know us."""


class Refused(Trouble):
    """The server answered with an error of its own."""

    def __init__(self, what: str, do: str = "", *, status: int) -> None:
        super().__init__(what, do)
        self.status = status


def refusal(url: str, status: int, body: bytes) -> Trouble:
    try:
        answer: Mapping[str, Any] = msgspec.json.decode(body, type=dict)
        error = str(answer.get("error", answer))
    except msgspec.DecodeError:
        error = body[:200].decode("utf-8", "replace")
    if status == 401:
        return WrongToken(
            f"the server at {url} does not accept our token",
            "set RL_INSIGHT_TOKEN to the content of the file 'token' in the server's data folder",
        )
    return Refused(error, status=status)


def running(data_dir: Path) -> Client | None:
    """A client for the server that owns the data folder, or None where none runs."""
    found = address.read(data_dir)
    if found is not None and address.healthy(found):
        return Client(address.local_url(found), address.token(data_dir) if found.token else "")
    if found is not None and address.is_locked(data_dir):
        raise Trouble(
            f"the server of {data_dir} (pid {found.pid}) runs but does not answer at {found.url}",
            "it may be starting or overloaded: try again, or look at server.log in the data folder",
        )
    return None
