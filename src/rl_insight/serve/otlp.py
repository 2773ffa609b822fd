"""`POST /v1/traces`, `/v1/metrics`, `/v1/logs`: OTLP over HTTP, in protobuf and JSON.

The answer is of the request's content type. A refusal is a `google.rpc.Status` in it, and its HTTP status says whether
to try again: 429 and 503 mean yes, after `Retry-After`; anything else no.
"""

from __future__ import annotations

import asyncio

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rl_insight.collect import Busy, DiskFull, Stopping
from rl_insight.collect.otlp import BadMessage, Outcome, Receiver, read
from rl_insight.export.otlp.post import COLLECTOR_HEADER, EXPORTER_HEADER
from rl_insight.serve.body import Room, read_body
from rl_insight.serve.otlp_answers import JSON, PROTOBUF, content_type, refusal, success
from rl_insight.serve.problems import Problem
from rl_insight.serve.service import Service

MAX_BODY_BYTES = 20 * 2**20
RUN_HEADER = "rl-insight-run"

# Reading a body smaller than this is cheaper than a hop to another thread.
_INLINE_BYTES = 32 * 1024
_UNFOLDED = 4


async def traces(request: Request) -> Response:
    return await _take(request, "traces")


async def metrics(request: Request) -> Response:
    return await _take(request, "metrics")


async def logs(request: Request) -> Response:
    return await _take(request, "logs")


async def _take(request: Request, signal: str) -> Response:
    kind = content_type(request.headers.get("content-type", ""))
    service: Service = request.app.state.service
    try:
        outcome = await _store(request, service, signal, kind)
    except Problem as problem:
        return refusal(problem, kind)
    receiver = service.receiver
    headers = {COLLECTOR_HEADER: receiver.collector_id} if receiver is not None else None
    return Response(success(signal, kind, outcome), media_type=kind, headers=headers)


async def _store(request: Request, service: Service, signal: str, kind: str) -> Outcome:
    receiver: Receiver | None = service.receiver
    if receiver is None:
        raise Problem(409, "this server only shows files; start one that collects with 'rl-insight server start'")
    if content_type(request.headers.get("content-type", ""), None) is None:
        given = request.headers.get("content-type", "none")
        raise Problem(415, f"content type {given!r} is not OTLP; send {PROTOBUF} or {JSON}")
    room: Room = request.app.state.room
    body, held = await read_body(request, min(MAX_BODY_BYTES, service.max_body_bytes), room)
    # Read, a message takes a few times the room of its bytes.
    room.give_back(held)
    held = _UNFOLDED * len(body)
    room.take(held)
    try:
        if service.stopping:
            raise Stopping("the collector is stopping; send the request again when it is back")
        if len(body) < _INLINE_BYTES:
            message = read(signal, body, as_json=kind == JSON)
        else:
            message = await anyio.to_thread.run_sync(lambda: read(signal, body, as_json=kind == JSON))
        direct = bool(request.headers.get(EXPORTER_HEADER))
        run = request.headers.get(RUN_HEADER, "")[:512]
        return await asyncio.wrap_future(receiver.submit(signal, message, size=len(body), run=run, direct=direct))
    except BadMessage as bad:
        raise Problem(400, str(bad)) from None
    except Busy as busy:
        raise Problem(429, str(busy), headers={"Retry-After": "1"}) from None
    except DiskFull as full:
        # By the rules of OTLP only these are tried again, and this will pass once there is room.
        raise Problem(503, full.strerror or str(full), headers={"Retry-After": "30"}) from None
    except Stopping as stopping:
        raise Problem(503, str(stopping), headers={"Retry-After": "2"}) from None
    except OSError as error:
        raise Problem(503, f"the log cannot be written: {error}", headers={"Retry-After": "30"}) from None
    finally:
        room.give_back(held)


ROUTES = [
    Route("/v1/traces", traces, methods=["POST"]),
    Route("/v1/metrics", metrics, methods=["POST"]),
    Route("/v1/logs", logs, methods=["POST"]),
]
