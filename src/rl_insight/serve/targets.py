"""Scrape targets over HTTP, and which services there are: what clients of RL-Insight 0.3 call."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rl_insight.collect.targets import BadTarget, Registration, Target, checked
from rl_insight.serve.problems import JSON, Problem
from rl_insight.serve.scraping import Scraping

MAX_BYTES = 4 * 2**20
_WANTED = '{"job_name": "vllm", "labels": {}, "targets": ["host:port", {"target": "host:port", "labels": {}}]}'


class Removal(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a removal; what is given in the address counts as well."""

    targets: list[str] | None = None
    job_name: str | None = None
    run: str | None = None


class _Running(msgspec.Struct):
    """What the state file of `rl-insight stack` says of a program, as far as it matters here."""

    name: str
    url: str
    condition: str = ""


class _Stack(msgspec.Struct):
    services: list[_Running] = []


async def services(request: Request) -> JSON:
    """Where the other services are; null: not here."""
    service = request.app.state.service
    # OTLP is taken on our own port, too.
    otlp = service.otlp_port or (request.scope.get("server") or ("", None))[1]
    found = await anyio.to_thread.run_sync(_stack_ports, service.scraping.data_dir) if service.scraping else {}
    return JSON(
        {
            "status": "ok",
            "otlp_port": otlp,
            "prometheus_port": found.get("prometheus"),
            "grafana_port": found.get("grafana"),
        }
    )


def _stack_ports(data_dir: Path) -> dict[str, int | None]:
    """The ports of what `rl-insight stack` runs for this data folder."""
    try:
        stack = msgspec.json.decode((data_dir / "stack" / "state.json").read_bytes(), type=_Stack)
    except (OSError, msgspec.DecodeError):
        return {}
    return {one.name: urlsplit(one.url).port for one in stack.services if one.condition == "ready"}


async def listed(request: Request) -> Response:
    """All targets, and how reading them goes."""
    scraping = _scraping(request)
    found = await anyio.to_thread.run_sync(lambda: [_shown(scraping, one) for one in scraping.targets.all()])
    settings = scraping.scraper.settings
    return JSON(
        {"scraping": settings.enabled, "interval": settings.interval, "folder": str(scraping.folder), "targets": found}
    )


async def add(request: Request) -> Response:
    """Register targets: all of them, or, when one is bad, none."""
    scraping = _scraping(request)
    try:
        asked = msgspec.json.decode(await _body(request), type=Registration)
        targets = checked(asked)
        added = await anyio.to_thread.run_sync(scraping.add, targets)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, f"send {_WANTED}: {error}") from None
    except BadTarget as bad:
        raise Problem(400, str(bad)) from None
    except OSError as error:
        raise Problem(507, f"the targets could not be stored: {error}") from None
    return JSON({"status": "ok", "targets": [_shown(scraping, one) for one in added]})


async def remove(request: Request) -> Response:
    """Remove targets by address, job or run."""
    scraping = _scraping(request)
    body = await _body(request)
    try:
        asked = msgspec.json.decode(body, type=Removal) if body.strip() else Removal()
        query = request.query_params
        targets = [*(asked.targets or []), *query.getlist("target")] or None
        job, run = asked.job_name or query.get("job_name"), asked.run or query.get("run")
        if targets is None and job is None and run is None:
            raise Problem(400, "say which: ?target=host:port, ?job_name= or ?run=, or the same in a JSON body")
        gone = await anyio.to_thread.run_sync(lambda: scraping.targets.remove(targets=targets, job=job, run=run))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, f'send {{"targets": ["host:port"], "job_name": "vllm"}}: {error}') from None
    except BadTarget as bad:
        raise Problem(400, str(bad)) from None
    scraping.scraper.wake()
    if not gone:
        raise Problem(404, "no such target is registered; GET /api/v1/prometheus/targets lists them")
    return JSON({"status": "ok", "removed": [one.target for one in gone]})


def _scraping(request: Request) -> Scraping:
    scraping: Scraping | None = request.app.state.service.scraping
    if scraping is None:
        raise Problem(409, "this server only shows files; targets are registered with one that collects")
    return scraping


def _shown(scraping: Scraping, one: Target) -> dict[str, Any]:
    state = msgspec.to_builtins(scraping.scraper.state(one))
    about = {"target": one.target, "job_name": one.job, "labels": one.labels, "url": one.url}
    return {**about, **state, "registered_run": one.run}


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise Problem(413, f"the targets are over {MAX_BYTES} bytes", limit=MAX_BYTES)
    return body


TARGETS = "/api/v1/prometheus/targets"
ROUTES = [
    Route("/api/v1/services", services),
    Route(TARGETS, listed),
    Route(TARGETS, add, methods=["POST"]),
    Route(TARGETS, remove, methods=["DELETE"]),
]
