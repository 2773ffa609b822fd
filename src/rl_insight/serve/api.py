"""The read side of the API: status, queries, runs, and the live tail."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from starlette.datastructures import State
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rl_insight.read.rows import Refused, ask
from rl_insight.read.runs import runs as read_runs
from rl_insight.serve.problems import JSON, Problem
from rl_insight.serve.service import ReadOnly, Service
from rl_insight.store import Table
from rl_insight.version import __version__

DEFAULT_ROWS = 10_000
MAX_ROWS = 1_000_000
QUERY_SECONDS = 60.0
MAX_QUERY_SECONDS = 3600.0
MAX_QUERY_BYTES = 2**20


class Query(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `POST /api/v1/query`."""

    sql: str
    params: list[Any] | dict[str, Any] | None = None
    limit: int = DEFAULT_ROWS
    timeout: float = QUERY_SECONDS


async def index(request: Request) -> JSON:
    return JSON(
        {
            "name": "rl-insight",
            "version": __version__,
            "endpoints": {
                "POST /v1/lines": "deliver recorded lines, newline-delimited JSON",
                "POST /v1/traces, /v1/metrics, /v1/logs": "the same from OpenTelemetry: OTLP in protobuf or JSON",
                "GET /healthz": "whether the server lives",
                "GET /metrics": "all live runs and the collector itself, for Prometheus",
                "GET /api/v1/status": "what the collector and the store are doing",
                "GET /api/v1/runs": "the runs in the store",
                "DELETE /api/v1/runs/{run}": "delete a run, from store and log",
                "POST /api/v1/query": 'read with SQL: {"sql": "SELECT ...", "params": [], "limit": 10000}',
                "GET /api/v1/services": "the ports of OTLP, Prometheus and Grafana",
                "GET, POST, DELETE /api/v1/prometheus/targets": "engines and others whose /metrics are read",
                "GET /api/v1/tail": "lines as they arrive, newline-delimited JSON",
            },
        }
    )


async def healthz(request: Request) -> JSON:
    return JSON({"status": "ok"})


async def status(request: Request) -> Response:
    service: Service = request.app.state.service
    answer = await anyio.to_thread.run_sync(service.status)
    return JSON({**answer, "tails": request.app.state.tails})


async def runs(request: Request) -> Response:
    service: Service = request.app.state.service
    found = await anyio.to_thread.run_sync(read_runs, service.store, limiter=request.app.state.readers)
    return JSON({"runs": found})


async def delete_run(request: Request) -> Response:
    service: Service = request.app.state.service
    run = request.path_params["run"]
    try:
        deleted = await anyio.to_thread.run_sync(service.delete_run, run)
    except ReadOnly as refusal:
        raise Problem(409, str(refusal)) from None
    if deleted is None:
        raise Problem(404, f"there is no run {run!r}; GET /api/v1/runs lists them")
    return JSON({"run": run, "lines": deleted})


async def query(request: Request) -> Response:
    service: Service = request.app.state.service
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_QUERY_BYTES:
            raise Problem(413, f"the query is over {MAX_QUERY_BYTES} bytes", limit=MAX_QUERY_BYTES)
    try:
        asked = msgspec.json.decode(body, type=Query)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, f'send {{"sql": "SELECT ...", "params": [], "limit": 10000}}: {error}') from None
    if not 1 <= asked.limit <= MAX_ROWS:
        raise Problem(400, f"limit must be between 1 and {MAX_ROWS}")
    if not 0 < asked.timeout <= MAX_QUERY_SECONDS:
        raise Problem(400, f"timeout must be above 0 and at most {MAX_QUERY_SECONDS:.0f} seconds")

    def answer() -> bytes:
        return encode(ask(service.store, asked.sql, asked.params, asked.limit, asked.timeout))

    try:
        encoded = await anyio.to_thread.run_sync(answer, limiter=request.app.state.readers)
    except Refused as error:
        raise Problem(400, str(error)) from None
    return Response(encoded, media_type="application/json")


def encode(table: Table) -> bytes:
    """A table as JSON, whatever types its cells have."""
    answer = {"columns": table.columns, "types": table.types, "rows": table.rows, "truncated": table.truncated}
    try:
        return msgspec.json.encode(answer, enc_hook=str)
    except (TypeError, ValueError, OverflowError):
        # Integers beyond 64 bits, maps with keys that are not strings, invalid text: rare, and never an error.
        return json.dumps(_plain(answer), ensure_ascii=True).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if value is None or isinstance(value, (str, int, bool)):
        return value
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


async def tail(request: Request) -> Response:
    service: Service = request.app.state.service
    return StreamingResponse(_lines_as_they_come(service, request.app.state), media_type="application/x-ndjson")


async def _lines_as_they_come(service: Service, state: State) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()

    def notify() -> None:
        loop.call_soon_threadsafe(changed.set)

    state.tails += 1
    try:
        with contextlib.closing(service.subscribe(notify)) as lines:
            while not service.stopping:
                changed.clear()
                taken = lines.take()
                if taken is None:
                    return
                if taken:
                    yield taken
                else:
                    # Woken now and then to see whether the server is stopping.
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(changed.wait(), 0.5)
    finally:
        state.tails -= 1
