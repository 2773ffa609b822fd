"""Request bodies: read in bounded memory, and unpacked in bounded memory."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable

import anyio
import zstandard
from starlette.requests import ClientDisconnect, Request

from rl_insight.serve.problems import Problem

STALL_SECONDS = 60.0
# Decompression of a small body is cheaper than a hop to another thread.
_INLINE_BYTES = 64 * 1024
# zstd packs up to 128 KiB into 4 bytes, and its Python binding cannot stop half way through its input: so much
# input at a time unpacks to 16 MiB at most.
_ZSTD_SLICE = 512
_GZIP_SLICE = 256 * 1024
_MAX_FRAMES = 1000


class Room:
    """How many bytes of request bodies may be in memory at once; past that, producers are asked to wait."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    def take(self, size: int) -> None:
        # One body always fits when nothing else is there, or a low limit would refuse it for ever.
        if self.used and self.used + size > self.limit:
            raise Problem(
                429,
                "the collector has too much unwritten data in memory; send the batch again after Retry-After seconds",
                headers={"Retry-After": "1"},
            )
        self.used += size

    def give_back(self, size: int) -> None:
        self.used -= size


def too_large(limit: int, what: str = "body") -> Problem:
    return Problem(
        413, f"the {what} is over {limit} bytes (collector.max_body_bytes); send smaller batches", limit=limit
    )


async def read_body(request: Request, limit: int, room: Room) -> tuple[bytes, int]:
    """The body as it should be stored, and how much of `room` is held for it: the caller gives that back."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    unpack = _UNPACKERS.get(encoding)
    if unpack is None and encoding not in ("identity", ""):
        raise Problem(415, f"unknown Content-Encoding {encoding!r}; use identity, gzip or zstd")
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > limit:
        raise too_large(limit)
    chunks: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(STALL_SECONDS) as scope:
            async for chunk in request.stream():
                if size + len(chunk) > limit:
                    raise too_large(limit)
                room.take(len(chunk))
                size += len(chunk)
                if chunk:
                    chunks.append(chunk)
                scope.deadline = anyio.current_time() + STALL_SECONDS
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        if unpack is None:
            return body, size
        if size < _INLINE_BYTES:
            unpacked = unpack(body, limit)
        else:
            unpacked = await anyio.to_thread.run_sync(unpack, body, limit)
        room.give_back(size)
        size = 0
        room.take(len(unpacked))
        return unpacked, len(unpacked)
    except TimeoutError:
        room.give_back(size)
        raise Problem(
            408,
            f"nothing more of the body came for {STALL_SECONDS:.0f} s; send the batch again",
            headers={"Connection": "close"},
        ) from None
    except ClientDisconnect:
        room.give_back(size)
        raise Problem(400, "the connection closed before the body was complete; send the batch again") from None
    except BaseException:
        room.give_back(size)
        raise


def ungzip(packed: bytes, limit: int) -> bytes:
    """Unpack gzip into at most `limit` bytes; several members in a row are one body."""
    parts: list[bytes] = []
    left = limit + 1
    at = 0
    try:
        for _ in range(_MAX_FRAMES):
            if at == len(packed):
                return b"".join(parts)
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                piece = packed[at : at + _GZIP_SLICE]
                if not piece:
                    raise Problem(400, "the gzip body is cut off; send the whole batch again")
                part = member.decompress(piece, left)
                parts.append(part)
                left -= len(part)
                if left <= 0:
                    raise too_large(limit, "unpacked body")
                at += len(piece) - len(member.unused_data)
    except zlib.error as error:
        raise Problem(400, f"the body is not gzip as its Content-Encoding says: {error}") from None
    raise Problem(400, f"the gzip body has over {_MAX_FRAMES} members; compress a batch in one go")


def unzstd(packed: bytes, limit: int) -> bytes:
    """Unpack zstd into at most `limit` bytes; several frames in a row are one body."""
    # A frame may ask for a window of gigabytes before it has said anything.
    unpacker = zstandard.ZstdDecompressor(max_window_size=max(1 << 23, 1 << (limit - 1).bit_length()))
    parts: list[bytes] = []
    left = limit
    at = 0
    try:
        # An empty first frame would hide the frames after it from the one-shot call.
        if packed and 0 < zstandard.frame_content_size(packed) <= limit:
            with contextlib.suppress(zstandard.ZstdError):  # more than one frame, or damaged: the loop tells
                return unpacker.decompress(packed, allow_extra_data=False)
        for _ in range(_MAX_FRAMES):
            if at == len(packed):
                return b"".join(parts)
            frame = unpacker.decompressobj()
            while not frame.eof:
                piece = packed[at : at + _ZSTD_SLICE]
                if not piece:
                    raise Problem(400, "the zstd body is cut off; send the whole batch again")
                part = frame.decompress(piece)
                parts.append(part)
                left -= len(part)
                if left < 0:
                    raise too_large(limit, "unpacked body")
                at += len(piece) - len(frame.unused_data)
    except zstandard.ZstdError as error:
        raise Problem(400, f"the body is not zstd as its Content-Encoding says: {error}") from None
    raise Problem(400, f"the zstd body has over {_MAX_FRAMES} frames; compress a batch in one go")


_UNPACKERS: dict[str, Callable[[bytes, int], bytes]] = {"gzip": ungzip, "x-gzip": ungzip, "zstd": unzstd}
