"""Routes behind the page's Overview, Rollouts, Session, Hotspots and Flow. Thin: what they answer is in `read/`."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rl_insight.read import flow as read_flow
from rl_insight.read import sessions as read_sessions
from rl_insight.read import steps as read_steps
from rl_insight.read.flame import flame as read_flame
from rl_insight.read.hotspots import examples as read_examples
from rl_insight.read.hotspots import hotspots as read_hotspots
from rl_insight.read.now import MOST as MOST_LIVE
from rl_insight.read.now import live as read_live
from rl_insight.read.overview import overview as read_overview
from rl_insight.read.session import NoSuchSession
from rl_insight.read.session import session as read_session
from rl_insight.read.tasks import tasks as read_tasks
from rl_insight.serve.problems import Problem
from rl_insight.serve.views import answer, number, range_of, run_of, whole
from rl_insight.store import Store

MOST_ROWS = 10**9


def step_of(request: Request, name: str = "step") -> int | None:
    """A step among the parameters, if it is given."""
    value = number(request, name)
    return None if value is None else int(value)


def sort_of(request: Request, otherwise: str) -> str:
    """The order asked for. A plus in an address may arrive as the space it stands for."""
    given = request.query_params.get("sort") or otherwise
    return "+" + given.strip() if given.startswith(" ") else given


def flag(request: Request, name: str) -> bool:
    return request.query_params.get(name, "") not in ("", "0", "false")


async def overview(request: Request) -> Response:
    return await answer(request, lambda store: read_overview(store, run_of(request)))


async def live(request: Request) -> Response:
    limit = whole(request, "limit", 200, 1, MOST_LIVE)
    return await answer(request, lambda store: read_live(store, run_of(request), limit=limit))


async def sessions(request: Request) -> Response:
    since, until = range_of(request)
    step = step_of(request)
    return await answer(
        request,
        lambda store: read_sessions.sessions(
            store,
            run_of(request),
            q=request.query_params.get("q", ""),
            step=step,
            since=since,
            until=until,
            sort=sort_of(request, "start"),
            limit=whole(request, "limit", 100, 1, read_sessions.MOST),
            offset=whole(request, "offset", 0, 0, MOST_ROWS),
        ),
    )


async def session(request: Request) -> Response:
    def ask(store: Store) -> Any:
        try:
            return read_session(store, request.path_params["session"], run_of(request))
        except NoSuchSession as missing:
            raise Problem(404, str(missing)) from None

    return await answer(request, ask)


async def tasks(request: Request) -> Response:
    since, until = range_of(request)
    step = step_of(request)
    return await answer(
        request,
        lambda store: read_tasks(
            store,
            run_of(request),
            q=request.query_params.get("q", ""),
            step=step,
            since=since,
            until=until,
            zero_spread=flag(request, "zero_spread"),
            sort=sort_of(request, "start"),
            limit=whole(request, "limit", 100, 1, read_sessions.MOST),
            offset=whole(request, "offset", 0, 0, MOST_ROWS),
        ),
    )


async def steps(request: Request) -> Response:
    low, high = step_of(request, "from_step"), step_of(request, "to_step")
    last = whole(request, "last", read_steps.LAST, 1, read_steps.MOST)
    return await answer(
        request, lambda store: read_steps.steps(store, run_of(request), last=last, from_step=low, to_step=high)
    )


async def anatomy(request: Request) -> Response:
    step = int(request.path_params["step"])
    return await answer(request, lambda store: read_steps.anatomy(store, step, run_of(request)))


async def flow(request: Request) -> Response:
    since, until = range_of(request)
    buckets = whole(request, "buckets", read_flow.BUCKETS, 1, read_flow.MOST_BUCKETS)
    return await answer(
        request, lambda store: read_flow.flow(store, run_of(request), since=since, until=until, buckets=buckets)
    )


def selection(request: Request) -> dict[str, Any]:
    """The parameters that say which spans are meant."""
    since, until = range_of(request)
    given = {name: request.query_params.get(name) or None for name in ("role", "worker", "lane", "name", "part")}
    return {
        "scope": request.query_params.get("scope") or "step",
        "step": step_of(request),
        "from_step": step_of(request, "from_step"),
        "to_step": step_of(request, "to_step"),
        "since": since,
        "until": until,
        "rank": step_of(request, "rank"),
        **given,
    }


async def hotspots(request: Request) -> Response:
    asked = selection(request)
    return await answer(
        request,
        lambda store: read_hotspots(
            store,
            run_of(request),
            by=request.query_params.get("by") or "name",
            sort=sort_of(request, "self"),
            limit=whole(request, "limit", 100, 1, 500),
            **asked,
        ),
    )


async def examples(request: Request) -> Response:
    asked = selection(request)
    limit = whole(request, "limit", 20, 1, 200)
    return await answer(request, lambda store: read_examples(store, run_of(request), limit=limit, **asked))


async def flame(request: Request) -> Response:
    asked = selection(request)
    nodes = whole(request, "nodes", 500, 1, 5000)
    return await answer(request, lambda store: read_flame(store, run_of(request), nodes=nodes, **asked))


ROUTES = [
    Route("/api/v1/runs/{run:run}/overview", overview),
    Route("/api/v1/runs/{run:run}/live", live),
    Route("/api/v1/runs/{run:run}/sessions", sessions),
    Route("/api/v1/runs/{run:run}/sessions/{session:path}", session),
    Route("/api/v1/runs/{run:run}/tasks", tasks),
    Route("/api/v1/runs/{run:run}/steps", steps),
    Route("/api/v1/runs/{run:run}/steps/{step:int}", anatomy),
    Route("/api/v1/runs/{run:run}/flow", flow),
    Route("/api/v1/runs/{run:run}/hotspots", hotspots),
    Route("/api/v1/runs/{run:run}/hotspots/examples", examples),
    Route("/api/v1/runs/{run:run}/flame", flame),
]
