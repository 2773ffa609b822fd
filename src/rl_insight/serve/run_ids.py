"""A run's id may hold slashes: percent-encoded it is one part of a path, whatever it holds."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

BELOW = "/api/v1/runs/"
# Stands for a slash within the id while the path is matched: a character that no path holds.
SLASH = "\x1f"


class RunId(Convertor[str]):
    """`{run:run}` in a route."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return value.replace(SLASH, "/")

    def to_string(self, value: str) -> str:
        return value.replace("/", SLASH)


register_url_convertor("run", RunId())


class WholeRunIds:
    """Paths arrive decoded, where a slash of an id looks like one between parts. What was sent tells them apart."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(BELOW):
            sent = scope.get("raw_path", b"").split(b"?")[0].decode("latin-1")
            encoded, slash, _ = sent.removeprefix(BELOW).partition("/")
            run = unquote(encoded)
            if "/" in run and sent.startswith(BELOW):
                rest = scope["path"][len(BELOW) + len(run) :]
                scope = {**scope, "path": f"{BELOW}{run.replace('/', SLASH)}{rest if slash else ''}"}
        await self.app(scope, receive, send)
