"""`POST /v1/lines`: where recorders deliver. Answers once the log has the batch, or says why it has not."""

from __future__ import annotations

import asyncio
import time

from starlette.requests import Request

from rl_insight.collect import Busy, DiskFull, Stopping
from rl_insight.schema import BadLine
from rl_insight.serve.body import Room, read_body
from rl_insight.serve.problems import JSON, Problem
from rl_insight.serve.service import ReadOnly, Service


async def lines(request: Request) -> JSON:
    """Take a batch: 200 means it is on disk, anything else that nothing of it is stored."""
    service: Service = request.app.state.service
    room: Room = request.app.state.room
    body, held = await read_body(request, service.max_body_bytes, room)
    try:
        accepted = await asyncio.wrap_future(service.submit(body))
    except BadLine as bad:
        raise Problem(400, str(bad), line=bad.number, path=bad.path) from None
    except Busy as busy:
        raise Problem(429, str(busy), headers={"Retry-After": "1"}) from None
    except DiskFull as full:
        raise Problem(507, full.strerror or str(full)) from None
    except ReadOnly as refusal:
        raise Problem(409, str(refusal)) from None
    except Stopping as stopping:
        raise Problem(503, str(stopping), headers={"Retry-After": "2"}) from None
    finally:
        room.give_back(held)
    return JSON({"accepted": accepted.accepted, "duplicates": accepted.duplicates, "clock": time.time_ns()})
