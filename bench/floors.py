"""The least that a call can cost in Python: what every recorder has to do at the very least."""

from __future__ import annotations

import time

APPEND = "append a stamped tuple"
WITH = "empty with-block"
CALL = "bare call"


class Nothing:
    """A context manager that does nothing."""

    __slots__ = ()

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        return None


def nothing() -> None:
    """A function that does nothing."""


def append_tuple(calls: int) -> None:
    buffer: list[object] = []
    now = time.monotonic_ns
    for _ in range(calls):
        buffer.append(("gauge", now(), "loss", 0.25))  # noqa: PERF401  # a recorder cannot use a comprehension either


def with_block(calls: int) -> None:
    for _ in range(calls):
        with Nothing():
            pass


def bare_call(calls: int) -> None:
    for _ in range(calls):
        nothing()


LOOPS = {APPEND: append_tuple, WITH: with_block, CALL: bare_call}
