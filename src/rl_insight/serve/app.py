"""The Starlette application: which path leads where, and how every refusal looks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from rl_insight.serve import api, live, metrics, otlp, page, rollouts, targets, views
from rl_insight.serve.auth import Guard
from rl_insight.serve.body import Room
from rl_insight.serve.lines import lines
from rl_insight.serve.problems import Problem, answer_crash, answer_http, answer_problem
from rl_insight.serve.run_ids import WholeRunIds
from rl_insight.serve.service import Service

# Queries at once; more wait for their turn, so that a slow one cannot take every thread.
READERS = 4


def create_app(service: Service, *, token: str = "") -> Starlette:
    """The application for one data folder. With a token, every request but `/healthz` has to show it."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.readers = anyio.CapacityLimiter(READERS)
        yield

    app = Starlette(
        routes=[
            *page.ROUTES,
            *live.ROUTES,
            *views.ROUTES,
            *rollouts.ROUTES,
            *targets.ROUTES,
            *metrics.ROUTES,
            *otlp.ROUTES,
            Route("/healthz", api.healthz),
            Route("/v1/lines", lines, methods=["POST"]),
            Route("/api/v1/status", api.status),
            Route("/api/v1/runs/{run:run}", api.delete_run, methods=["DELETE"]),
            Route("/api/v1/query", api.query, methods=["POST"]),
            Route("/api/v1/tail", api.tail),
        ],
        middleware=[Middleware(Guard, token=token), Middleware(WholeRunIds)],
        exception_handlers={
            Problem: answer_problem,
            HTTPException: answer_http,
            Exception: answer_crash,
        },
        lifespan=lifespan,
    )
    app.state.service = service
    app.state.tails = 0
    app.state.room = Room(service.max_pending_bytes)
    return app
