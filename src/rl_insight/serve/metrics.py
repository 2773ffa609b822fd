"""`/metrics`, for Prometheus: the text is made in `export/prometheus`."""

from __future__ import annotations

import gzip

import anyio
import anyio.to_thread
import duckdb
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rl_insight.serve.problems import Problem
from rl_insight.serve.service import Service

_WORTH_PACKING = 1024


async def metrics(request: Request) -> Response:
    """All runs that are live or were a moment ago, and the collector itself."""
    service: Service = request.app.state.service
    accept = request.headers.get("accept", "")
    packed = "gzip" in request.headers.get("accept-encoding", "")

    def answer() -> Response:
        page = service.metrics.answer(accept)
        headers = {"Content-Type": page.content_type, "Vary": "Accept, Accept-Encoding", "Cache-Control": "no-store"}
        body = page.body
        if packed and len(body) >= _WORTH_PACKING:
            body = gzip.compress(body, 1, mtime=0)
            headers["Content-Encoding"] = "gzip"
        return Response(body, headers=headers)

    state = request.app.state
    turn: anyio.Lock | None = getattr(state, "scrape", None)
    if turn is None:
        turn = state.scrape = anyio.Lock()
    try:
        # One after the other, so that scrapes which wait for a slow one take no reader from the page.
        async with turn:
            return await anyio.to_thread.run_sync(answer, limiter=state.readers)
    except duckdb.Error as error:
        raise Problem(503, f"the store cannot be asked now ({str(error).splitlines()[0]}); it is tried again") from None


ROUTES = [Route("/metrics", metrics)]
