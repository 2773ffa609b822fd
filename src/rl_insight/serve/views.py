"""Routes behind the page's Runs, Timeline, Metrics, Fleet, Facts and Health. Thin: what they answer is in `read/`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rl_insight.read.catalogue import catalogue
from rl_insight.read.compose import text_of
from rl_insight.serve.problems import JSON, Problem
from rl_insight.serve.service import Service
from rl_insight.store import Store


async def answer(request: Request, ask: Callable[[Store], Any]) -> Response:
    """Ask the store in a thread of the readers."""
    service: Service = request.app.state.service
    return JSON(await anyio.to_thread.run_sync(ask, service.store, limiter=request.app.state.readers))


async def runs(request: Request) -> Response:
    return await answer(request, catalogue)


async def question(request: Request) -> Response:
    """The SQL of a read model, so that people can ask it with their own tools."""
    name = request.path_params["name"]
    if not name.isidentifier():
        raise Problem(404, f"there is no question {name!r}")
    try:
        return JSON({"name": name, "sql": text_of(name)})
    except FileNotFoundError:
        raise Problem(404, f"there is no question {name!r}; they are the .sql files in rl_insight/read") from None


ROUTES = [
    Route("/api/v1/runs", runs),
    Route("/api/v1/questions/{name}", question),
]
