"""Who may talk to the server: anyone on this machine, or whoever has the token."""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import secrets
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rl_insight.config import ConfigError
from rl_insight.serve.otlp_answers import OTLP_PATHS, content_type, refusal
from rl_insight.serve.page import is_page
from rl_insight.serve.problems import Problem

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{8,}")
COOKIE = "rl_insight_token"
OPEN_PATHS = frozenset({"/healthz"})


class Guard:
    """Lets a request through when it shows the token or, where none is set, comes from this machine itself.

    Without a token the server listens on loopback only. A web page in the user's browser can still reach it
    there, so the `Host` must be a loopback name (a rebound DNS name is not) and an `Origin` must be our own.
    """

    def __init__(self, app: ASGIApp, token: str = "") -> None:
        self.app = app
        self.token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._refusal(scope, headers)
        if problem is not None:
            await self._answer(problem, scope, headers)(scope, receive, send)
        elif self.token and b"token=" in scope["query_string"]:
            await self.app(scope, receive, self._with_cookie(send))
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Problem | None:
        origin = headers.get("origin")
        if origin is not None and _authority(origin) != headers.get("host"):
            return Problem(403, f"requests from pages of {origin} are refused; open this server's own page instead")
        if not self.token:
            host = headers.get("host")
            if host is not None and not is_loopback(_hostname(host)):
                return Problem(
                    403,
                    f"this server answers on loopback only, not as {host!r}; use http://127.0.0.1:PORT, "
                    "or start it with --host to serve other machines",
                )
            return None
        if scope["path"] in OPEN_PATHS or self._shows_token(scope, headers):
            return None
        # The page holds no data; it asks for the token itself when a link without one is followed.
        if scope["method"] == "GET" and is_page(scope["path"], headers.get("accept", "")):
            return None
        return Problem(
            401,
            "a token is needed: send 'Authorization: Bearer TOKEN'. RL_INSIGHT_TOKEN sets it for recorders and "
            "commands; it is in the file 'token' of the server's data folder",
            headers={"WWW-Authenticate": "Bearer"},
        )

    @staticmethod
    def _answer(problem: Problem, scope: Scope, headers: Headers) -> Response:
        """A refusal in the shape that the path has for it: OpenTelemetry's clients expect their own."""
        if scope["path"] in OTLP_PATHS:
            return refusal(problem, content_type(headers.get("content-type", "")))
        return problem.answer()

    def _shows_token(self, scope: Scope, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._same(given.strip()):
            return True
        if b"token=" in scope["query_string"]:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if any(map(self._same, query.get("token", []))):
                return True
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and self._same(cookies[COOKIE].value)

    def _same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self.token)

    def _with_cookie(self, send: Send) -> Send:
        """A link with `?token=` opens the door once; the cookie keeps it open without the token in every URL."""

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                cookie = f"{COOKIE}={self.token.decode()}; Path=/; HttpOnly; SameSite=Strict"
                message = {**message, "headers": [*message["headers"], (b"set-cookie", cookie.encode())]}
            await send(message)

        return send_with_cookie


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine only."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _authority(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _hostname(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def token_for(data_dir: Path, host: str, configured: str) -> str:
    """The token in force: the configured one, none on loopback, else the data folder's own, made on first use."""
    path = data_dir / "token"
    if configured:
        if not _TOKEN.fullmatch(configured):
            raise ConfigError("setting collector.token: use letters, digits and . _ ~ + / = - only, 8 or more")
        if not path.is_file() or path.read_text().strip() != configured:
            _write_secret(path, configured)
        return configured
    if is_loopback(host):
        return ""
    if path.is_file() and (token := path.read_text().strip()):
        return token
    token = secrets.token_urlsafe(24)
    _write_secret(path, token)
    return token


def _write_secret(path: Path, secret: str) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secret + "\n")
    fresh.replace(path)
