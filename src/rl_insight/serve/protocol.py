"""HTTP/1.1 as uvicorn speaks it, with a bound on the request head, cheap large bodies, and refusals in JSON."""

from __future__ import annotations

from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
# How much of a body is gathered before the application is woken; most batches fit whole.
GATHER_BYTES = 2**20


class _Pieces(list[bytes]):
    """A body as it came, joined once. Stands where uvicorn has a bytearray, which it copies into and out of."""

    size = 0

    def __bytes__(self) -> bytes:
        return self[0] if len(self) == 1 else b"".join(self)


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn keeps request heads of any length in memory; this one stops reading at 64 KiB."""

    # How much of an unfinished head has come; None while a body is being read.
    _head: int | None = 0

    def data_received(self, data: bytes) -> None:
        head = self._head
        if head is not None:
            if head + len(data) > MAX_HEAD_BYTES and not self._head_ends(data, MAX_HEAD_BYTES - head):
                self._refuse(431, f"the request head is over {MAX_HEAD_BYTES} bytes; send fewer or shorter headers")
                return
            self._head = head + len(data)
        super().data_received(data)

    @staticmethod
    def _head_ends(data: bytes, room: int) -> bool:
        # The blank line may have begun in the chunk before.
        return data.find(b"\r\n\r\n", 0, max(room, 0)) >= 0 or data[:3] == b"\n\r\n" or data[:2] == b"\r\n"

    def on_headers_complete(self) -> None:
        self._head = None
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        cycle = self.cycle
        if cycle.response_complete:
            return
        pieces: Any = cycle.body
        if type(pieces) is not _Pieces:
            pieces = _Pieces()
            cycle.body = pieces
        pieces.append(body)
        pieces.size += len(body)
        if pieces.size > GATHER_BYTES:
            self.flow.pause_reading()
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._head = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "this is not an HTTP/1.1 request; send lines with POST /v1/lines over plain HTTP")

    def _refuse(self, status: int, error: str) -> None:
        body = msgspec.json.encode({"error": error})
        self.transport.write(
            STATUS_LINE[status]
            + b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
            + body
        )
        self.transport.close()
