"""What a sink is, and what can go wrong with one."""

from typing import Protocol

import msgspec


class Batch(msgspec.Struct, frozen=True):
    """Finished lines of one or more processes, in order, as they will stand in the log."""

    body: bytes
    lines: int


class Ack(msgspec.Struct, frozen=True):
    """The other side has the batch and will keep it. `clock` is its time in ns, when it told."""

    accepted: int
    duplicates: int = 0
    clock: int | None = None


class Sink(Protocol):
    """Takes finished lines out of the process. Called by one sender thread only."""

    @property
    def destination(self) -> str:
        """What tells this receiver from others; lines for it wait on disk when it is away. Empty: they need not."""
        ...

    def send(self, batch: Batch) -> Ack:
        """Deliver a batch, or raise `Unavailable`, `Refused` or `TooLarge`."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...

    def abandon(self) -> None:
        """In a forked child: let go of what is the parent's without touching it."""
        ...

    def describe(self) -> str:
        """Where the lines go, for a person."""
        ...


class Unavailable(Exception):
    """Not delivered now; the same batch may be sent again, not before `retry_after` seconds have passed."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Refused(Exception):
    """The other side will never take this batch; sending it again is no use."""


class TooLarge(Exception):
    """The batch must be cut smaller; to `limit` bytes, when the other side told."""

    def __init__(self, message: str, limit: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
