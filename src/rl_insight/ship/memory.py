"""A sink that keeps lines in memory; `rl_insight.testing` reads them back."""

from typing import Any

import msgspec

from rl_insight.ship.sink import Ack, Batch


class MemorySink:
    """Keeps every line."""

    destination = ""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def send(self, batch: Batch) -> Ack:
        """Keep a batch."""
        self.bodies.append(batch.body)
        return Ack(batch.lines)

    def lines(self) -> list[dict[str, Any]]:
        """All lines so far, decoded."""
        return msgspec.json.Decoder(dict[str, Any]).decode_lines(b"".join(self.bodies))

    def close(self) -> None:
        """Keep what there is."""

    def abandon(self) -> None:
        """Nothing here is the parent's alone."""

    def describe(self) -> str:
        """Where the lines go."""
        return "memory"
