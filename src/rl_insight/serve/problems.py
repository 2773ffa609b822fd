"""What goes wrong in a request, as the client sees it: always `{"error": "what happened and what to do"}`."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

logger = logging.getLogger("rl_insight.serve")

_encoder = msgspec.json.Encoder()


class JSON(Response):
    """A JSON answer, encoded by msgspec."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return _encoder.encode(content)


class Problem(Exception):
    """A request that cannot be served; `error` tells the caller what to do about it."""

    def __init__(self, status: int, error: str, headers: dict[str, str] | None = None, **details: str | int) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.headers = headers
        self.details = details

    def answer(self) -> JSON:
        return JSON({"error": self.error, **self.details}, status_code=self.status, headers=self.headers)


async def answer_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return problem.answer()


async def answer_http(request: Request, problem: Exception) -> Response:
    """Starlette's own refusals (no such route, wrong method) in our shape."""
    assert isinstance(problem, HTTPException)
    if problem.status_code == 404:
        error = f"there is nothing at {request.url.path}; GET / lists what there is"
    elif problem.status_code == 405:
        allowed = (problem.headers or {}).get("Allow", "")
        error = f"{request.method} does not work on {request.url.path}; use {allowed}"
    else:
        error = problem.detail
    return JSON({"error": error}, status_code=problem.status_code, headers=problem.headers)


async def answer_crash(request: Request, problem: Exception) -> Response:
    """A fault of ours. The traceback goes to the server's log, never to the client."""
    return JSON({"error": "the server failed on this request; its log says why. Retrying is safe"}, status_code=500)
