"""Routes behind the page's Runs, Timeline, Metrics, Fleet, Facts and Health. Thin: what they answer is in `read/`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import unquote

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rl_insight.read.about import NoSuchRun
from rl_insight.read.as_of import AsOf
from rl_insight.read.asked import Listener
from rl_insight.read.catalogue import catalogue
from rl_insight.read.clocks import Corrected
from rl_insight.read.compose import text_of
from rl_insight.read.facts import facts as read_facts
from rl_insight.read.facts import vocabulary
from rl_insight.read.fleet import fleet as read_fleet
from rl_insight.read.flows import MOST as MOST_FLOWS
from rl_insight.read.flows import flows as read_flows
from rl_insight.read.metrics import NoSuchMetric
from rl_insight.read.metrics import course as read_course
from rl_insight.read.metrics import metrics as read_metrics
from rl_insight.read.search import BadSearch
from rl_insight.read.timeline import MOST_LANES
from rl_insight.read.timeline import beside as read_beside
from rl_insight.read.timeline import lanes as read_lanes
from rl_insight.read.timeline import span as read_span
from rl_insight.read.timeline import statistics as read_statistics
from rl_insight.read.timeline import summary as read_summary
from rl_insight.read.timeline import timeline as read_timeline
from rl_insight.read.trust import trust
from rl_insight.read.verify import verify as read_verify
from rl_insight.serve import run_ids  # noqa: F401 - routes name its convertor
from rl_insight.serve.problems import JSON, Problem
from rl_insight.serve.service import Service
from rl_insight.store import Store

MOST_FOLDED = 50


async def answer(request: Request, ask: Callable[[Store], Any]) -> Response:
    """Ask the store in a thread of the readers, and say how long it took. With `sql=1`, tell what was asked instead.

    Of a run one may ask as of a moment, `at`, and with `clocks` put right.
    """
    service: Service = request.app.state.service
    listener = Listener(service.store) if request.query_params.get("sql") == "1" else None
    source = service.store if listener is None else cast("Store", listener)
    moment = number(request, "at") if "run" in request.path_params else None
    if moment is not None:
        source = cast("Store", AsOf(source, round(moment * 1e6)))
    if "run" in request.path_params and clocks_of(request) == "corrected":
        source = cast("Store", Corrected(source))
    started = time.perf_counter()
    try:
        found = await anyio.to_thread.run_sync(ask, source, limiter=request.app.state.readers)
    except (NoSuchRun, NoSuchMetric) as missing:
        raise Problem(404, str(missing)) from None
    except BadSearch as problem:
        raise Problem(400, str(problem)) from None
    response = JSON(found if listener is None else {"asked": listener.asked})
    response.headers["Server-Timing"] = f"read;dur={(time.perf_counter() - started) * 1e3:.1f}"
    return response


def number(request: Request, name: str) -> float | None:
    """A number among the parameters, if it is given."""
    text = request.query_params.get(name)
    if text is None or text == "":
        return None
    try:
        value = float(text)
    except ValueError:
        raise Problem(400, f"{name} must be a number, not {text!r}") from None
    if not abs(value) < 1e15:
        raise Problem(400, f"{name} is out of range")
    return value


def whole(request: Request, name: str, otherwise: int, least: int, most: int) -> int:
    """A whole number among the parameters, kept within bounds."""
    value = number(request, name)
    return otherwise if value is None else max(least, min(most, int(value)))


def clocks_of(request: Request) -> str:
    """Which stamps are meant: those that were recorded, or those with clocks put right."""
    given = request.query_params.get("clocks") or "recorded"
    if given not in ("recorded", "corrected"):
        raise Problem(400, f"clocks is 'recorded' or 'corrected', not {given!r}")
    return given


def run_of(request: Request) -> str:
    return str(request.path_params["run"])


def range_of(request: Request) -> tuple[float | None, float | None]:
    return number(request, "from"), number(request, "to")


async def runs(request: Request) -> Response:
    return await answer(request, catalogue)


async def lanes(request: Request) -> Response:
    return await answer(request, lambda store: read_lanes(store, run_of(request)))


async def timeline(request: Request) -> Response:
    given = [one for one in request.query_params.get("lanes", "").split(",") if one]
    if len(given) > MOST_LANES:
        raise Problem(400, f"at most {MOST_LANES} lanes at once, not {len(given)}")
    wanted = []
    for one in given:
        proc, separator, lane = one.partition("~")
        if not separator:
            raise Problem(400, f"lanes is a list of PROC~LANE, each percent-encoded, not {one!r}")
        wanted.append((unquote(proc), unquote(lane)))
    since, until = range_of(request)
    px = whole(request, "px", 1000, 20, 4000)
    states_only = request.query_params.get("part") == "state"
    return await answer(
        request, lambda store: read_timeline(store, run_of(request), wanted, since, until, px, states_only)
    )


async def summary(request: Request) -> Response:
    since, until = range_of(request)
    buckets = whole(request, "buckets", 200, 1, 400)
    return await answer(request, lambda store: read_summary(store, run_of(request), since, until, buckets))


async def statistics(request: Request) -> Response:
    since, until = range_of(request)
    of = request.query_params.get("of", "")
    if of not in ("", "names", "lanes"):
        raise Problem(400, f"of is 'names' or 'lanes', not {of!r}")
    return await answer(request, lambda store: read_statistics(store, run_of(request), since, until, of))


async def flows(request: Request) -> Response:
    since, until = range_of(request)
    procs = [unquote(one) for one in request.query_params.get("procs", "").split(",") if one]
    return await answer(
        request,
        lambda store: read_flows(
            store,
            run_of(request),
            since,
            until,
            px=whole(request, "px", 1000, 20, 4000),
            procs=procs,
            most=whole(request, "most", MOST_FLOWS, 1, MOST_FLOWS),
        ),
    )


async def span(request: Request) -> Response:
    proc, seq = request.path_params["proc"], int(request.path_params["seq"])

    def ask(store: Store) -> Any:
        found = read_span(store, run_of(request), proc, seq)
        if found is None:
            raise NoSuchRun(f"process {proc!r} has recorded no interval with seq {seq} in this run")
        return found

    return await answer(request, ask)


async def beside(request: Request) -> Response:
    proc, seq = request.path_params["proc"], int(request.path_params["seq"])
    which = request.path_params["which"]
    if which not in ("next", "previous"):
        raise Problem(404, f"ask for next or previous, not {which!r}")

    def ask(store: Store) -> Any:
        return {"interval": read_beside(store, run_of(request), proc, seq, which == "next")}

    return await answer(request, ask)


async def metrics(request: Request) -> Response:
    return await answer(request, lambda store: read_metrics(store, run_of(request)))


async def metric(request: Request) -> Response:
    by = request.query_params.get("by", "step")
    if by not in ("step", "time"):
        raise Problem(400, f"by is 'step' or 'time', not {by!r}")
    since, until = range_of(request)
    return await answer(
        request,
        lambda store: read_course(
            store,
            run_of(request),
            request.path_params["name"],
            by="time" if by == "time" else "step",
            group=request.query_params.get("group") or None,
            since=since,
            until=until,
            points=whole(request, "points", 400, 2, 2000),
            heat=request.query_params.get("heat", "") not in ("", "0"),
            log={"0": False, "1": True}.get(request.query_params.get("log", "")),
        ),
    )


async def fleet(request: Request) -> Response:
    since, until = range_of(request)
    return await answer(request, lambda store: read_fleet(store, run_of(request), since, until))


async def facts(request: Request) -> Response:
    since, until = range_of(request)
    return await answer(
        request,
        lambda store: read_facts(
            store,
            run_of(request),
            request.query_params.get("q", ""),
            since=since,
            until=until,
            limit=whole(request, "limit", 200, 1, 1000),
            offset=whole(request, "offset", 0, 0, 10**9),
            oldest_first=request.query_params.get("sort", "-at") in ("at", "+at"),
        ),
    )


async def fact_names(request: Request) -> Response:
    since, until = range_of(request)
    return await answer(request, lambda store: vocabulary(store, run_of(request), since, until))


async def health(request: Request) -> Response:
    service: Service = request.app.state.service

    def ask(store: Store) -> Any:
        size = store.path.stat().st_size if store.path.exists() else 0
        shown = {"folded": service.metrics.folded[:MOST_FOLDED], "renamed": service.metrics.renamed[:MOST_FOLDED]}
        return {
            "at": time.time() * 1e3,
            **service.status(),
            "store_bytes": size,
            "trust": trust(store),
            "prometheus": shown,
        }

    return await answer(request, ask)


async def verify(request: Request) -> Response:
    run = request.query_params.get("run") or None
    return await answer(request, lambda store: read_verify(store, run))


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
    Route("/api/v1/health", health),
    Route("/api/v1/verify", verify),
    Route("/api/v1/questions/{name}", question),
    Route("/api/v1/runs/{run:run}/timeline", timeline),
    Route("/api/v1/runs/{run:run}/timeline/lanes", lanes),
    Route("/api/v1/runs/{run:run}/timeline/summary", summary),
    Route("/api/v1/runs/{run:run}/timeline/statistics", statistics),
    Route("/api/v1/runs/{run:run}/timeline/spans/{proc}/{seq:int}", span),
    Route("/api/v1/runs/{run:run}/timeline/spans/{proc}/{seq:int}/{which}", beside),
    Route("/api/v1/runs/{run:run}/flows", flows),
    Route("/api/v1/runs/{run:run}/metrics", metrics),
    Route("/api/v1/runs/{run:run}/metrics/{name:path}", metric),
    Route("/api/v1/runs/{run:run}/fleet", fleet),
    Route("/api/v1/runs/{run:run}/facts", facts),
    Route("/api/v1/runs/{run:run}/facts/names", fact_names),
]
