"""The page: files that the build put beside this module, served compressed, cached, and under a strict policy."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from rl_insight.serve import api
from rl_insight.serve.problems import Problem

STATIC = Path(__file__).parent / "static"

# Recorded text may hold anything, so nothing that is not a file of ours may run, style or load.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding, Accept",
}
# The names of assets hold a hash of their content, so a name never means something else.
FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
}
ENCODINGS = (("br", ".br"), ("gzip", ".gz"))

NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>RL-Insight</title>
<h1>RL-Insight is running, but its page has not been built</h1>
<p>This is a checkout that was installed where there was no Node. Everything is being recorded all the same.</p>
<p>With Node 20 or newer, in the checkout: <code>make page</code>, then load this page again; no restart is needed.
An installation from a wheel (<code>pip install rl-insight[server]</code>) has the page inside.</p>
<p>Without it: <code>rl-insight runs list</code>, <code>rl-insight query</code>, and <code>/api/v1</code>.</p>
"""


async def index(request: Request) -> Response:
    """The page for browsers; for programs, what the server offers."""
    if "text/html" not in request.headers.get("accept", ""):
        return await api.index(request)
    if not (STATIC / "index.html").is_file():
        return HTMLResponse(NOT_BUILT, status_code=503, headers={**HEADERS, "Cache-Control": "no-store"})
    return answer(request, "index.html", ASK_AGAIN)


async def asset(request: Request) -> Response:
    return answer(request, f"assets/{request.path_params['name']}", FOR_EVER)


async def favicon(request: Request) -> Response:
    return answer(request, "favicon.svg", ASK_AGAIN)


def answer(request: Request, name: str, caching: str) -> Response:
    """A file of the build, in the smallest form the client takes."""
    path = STATIC / name
    if path.suffix not in TYPES or ".." in path.parts or not path.is_file():
        raise Problem(404, f"the page has no file {name}; load the page again if the server was updated")
    tag = etag(path, path.stat().st_mtime_ns)
    headers = {**HEADERS, "Cache-Control": caching, "ETag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    accepted = {one.split(";")[0].strip() for one in request.headers.get("accept-encoding", "").split(",")}
    for encoding, suffix in ENCODINGS:
        packed = path.with_name(path.name + suffix)
        if encoding in accepted and packed.is_file():
            return Response(
                packed.read_bytes(),
                headers={**headers, "Content-Encoding": encoding, "Content-Type": TYPES[path.suffix]},
            )
    return Response(path.read_bytes(), headers={**headers, "Content-Type": TYPES[path.suffix]})


@cache
def etag(path: Path, changed: int) -> str:
    """What tells one content of a file from another; `changed` keeps a rebuilt file from being taken for the old."""
    return f'"{hashlib.sha256(path.read_bytes()).hexdigest()[:24]}"'


def is_page(path: str, accept: str) -> bool:
    """Whether a request is for the page itself, which holds no data and may be loaded before the token is given."""
    return path == "/favicon.svg" or path.startswith("/assets/") or (path == "/" and "text/html" in accept)


ROUTES = [
    Route("/", index),
    Route("/assets/{name}", asset),
    Route("/favicon.svg", favicon),
]
