"""The process's one recorder: calls append to its buffer, the sender drains it. Nothing here does I/O."""

import contextlib
import itertools
import random
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

monotonic = time.monotonic_ns

current: ContextVar[Any] = ContextVar("rl_insight_current", default=None)
"""The innermost open span, state, task or session of this thread or asyncio task; or a remote parent."""


class Recorder:
    """Holds what was recorded and not yet made into lines.

    A call costs an attribute check while `active` is false. While it is true a call takes a stamp and appends
    one record to `buffer`; a full buffer counts the record as dropped. No lock is taken on that way:
    `list.append`, `dict.pop` and `itertools.count` are atomic.
    """

    __slots__ = (
        "_asleep",
        "_drops",
        "_drops_read",
        "active",
        "announced",
        "base",
        "buffer",
        "docs",
        "limit",
        "lock",
        "next_id",
        "open",
        "problems",
        "step",
        "trace_high",
        "warn",
    )

    def __init__(self) -> None:
        self.active = False
        self.warn: Callable[[str], None] = _warn
        self.reset(limit=0)

    def reset(self, limit: int) -> None:
        """Forget everything and start anew; called before recording starts, and in a forked child."""
        self.buffer: list[Any] = []
        self.limit = limit
        self.step: int | None = None
        # Wall clock once, monotonic after: stamps of one process never run backwards.
        self.base = time.time_ns() - monotonic()
        # Sequential from a random start: unique within the process by counting, among processes by chance,
        # and always sixteen hexadecimal digits.
        chance = random.SystemRandom()
        self.next_id = itertools.count(chance.randrange(2**62, 2**63 - 2**56)).__next__
        self.trace_high = f"{chance.getrandbits(64):016x}"
        self.open: dict[int | str, Any] = {}
        self.announced: dict[int | str, Any] = {}
        self.docs: dict[str, str] = {}
        self.problems: dict[str, int] = {}
        self._asleep: tuple[Callable[[], None], int, Callable[[], int]] | None = None
        self._drops = itertools.count()
        self._drops_read = 0
        # Re-entrant: a signal handler may record while its thread is counting a problem.
        self.lock = threading.RLock()

    def add(self, record: Any) -> None:
        """Append a record, or count it as dropped when the buffer is full."""
        if len(self.buffer) < self.limit:
            self.buffer.append(record)
        elif self._asleep is not None:
            self._wake()
            self.add(record)
        else:
            next(self._drops)

    def sleep(self, start: Callable[[], None]) -> None:
        """Have `start` called by whatever is recorded first: many forked children never record anything."""
        self._asleep = start, self.limit, self.next_id
        # Every call comes by one of these two, and neither costs it more for that.
        self.limit = 0
        self.next_id = self._first_id

    def _first_id(self) -> int:
        self._wake()
        return self.next_id()

    def _wake(self) -> None:
        with self.lock:
            if self._asleep is None:
                return
            start, self.limit, self.next_id = self._asleep
            self._asleep = None
            try:
                start()
            except Exception as error:  # the caller's own work matters more than its record
                self.active = False
                self.problem("start", f"this process is not recorded: {type(error).__name__}: {error}")

    def take(self, most: int) -> list[Any]:
        """Remove and return the oldest records. Called by the sender alone."""
        records = self.buffer[:most]
        del self.buffer[: len(records)]
        return records

    def dropped(self) -> int:
        """How many records were dropped since the last call. Called by the sender alone."""
        total = next(self._drops) - self._drops_read
        self._drops_read += total + 1
        return total

    def now(self) -> int:
        """Nanoseconds since the epoch, on the process's own steady clock."""
        return self.base + monotonic()

    def hex_trace(self, trace: int | str) -> str:
        """A trace id as thirty-two hexadecimal digits; a trace begun here is named by its first span."""
        return trace if isinstance(trace, str) else self.trace_high + trace.to_bytes(8, "big").hex()

    def problem(self, kind: str, detail: str) -> None:
        """Count a call that could not be recorded as it was made; the first of a kind is logged."""
        with self.lock:
            count = self.problems[kind] = self.problems.get(kind, 0) + 1
        if count == 1:
            # Whoever listens to the log may raise; that is not the caller's fault either.
            with contextlib.suppress(Exception):
                self.warn(f"rl-insight: {detail} [{kind}; further ones are counted in status().problems]")

    def failed(self, error: Exception) -> None:
        """Count a call that was dropped because what it was given raised."""
        try:
            detail = f"{type(error).__name__}: {error}"[:300]
        except Exception:
            detail = type(error).__name__
        self.problem("bad_call", f"a call was dropped, since what it was given raised {detail}")


def _warn(message: str) -> None:
    import logging  # most processes have nothing to warn of, and importing us should cost nothing

    logging.getLogger("rl_insight").warning(message)


def hex_id(identity: int | str) -> str:
    """A span id as sixteen hexadecimal digits."""
    # A third of the time that formatting with :016x takes.
    return identity if isinstance(identity, str) else identity.to_bytes(8, "big").hex()


recorder = Recorder()
