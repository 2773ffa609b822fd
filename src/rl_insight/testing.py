"""Helpers for the tests of code that records: what it recorded, line by line, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from rl_insight import close, flush, init
from rl_insight.ship.lifecycle import shipment
from rl_insight.ship.memory import MemorySink


class Lines:
    """What was recorded: `lines()` for all lines, `lines("gauge")` for those of a kind, decoded, after a flush."""

    def __init__(self, sink: MemorySink) -> None:
        self._sink = sink

    def __call__(self, kind: str | None = None) -> list[dict[str, Any]]:
        found = msgspec.json.Decoder(dict[str, Any]).decode_lines(self.raw())
        return [line for line in found if kind is None or line["kind"] == kind]

    def raw(self) -> bytes:
        """The same as bytes, as they would have left the process."""
        flush()
        return b"".join(self._sink.bodies)


@contextmanager
def recording(*, redactor: Callable[[str, Any], Any] | None = None, **config: Any) -> Iterator[Lines]:
    """Record into memory for the body of a `with`: `with recording(role="actor") as lines: ...; lines("gauge")`.

    The settings are those of `init(config=...)`: `project`, `run`, `labels`, `redact={"text": True}`, …
    Resources are not sampled and heartbeats not recorded, unless the settings ask for them.
    """
    config["ship"] = {"heartbeat": 3600.0, **config.get("ship", {}), "sink": "memory"}
    config["resources"] = {"enabled": False, **config.get("resources", {})}
    close()
    init(config=config, redactor=redactor)
    running = shipment()
    if running is None or not isinstance(running.sink, MemorySink):
        close()
        raise RuntimeError("not recording to memory: unset RL_INSIGHT_DISABLED and RL_INSIGHT_SINK in tests")
    try:
        yield Lines(running.sink)
    finally:
        close()
