"""Lines for the collector's tests."""

from collections.abc import Callable

import pytest

from rl_insight.schema import Gauge, encode_lines

Gauges = Callable[..., bytes]


@pytest.fixture
def gauges() -> Gauges:
    """Makes a body of gauges: `gauges(3, first=5, proc="p")` has seq 5, 6, 7."""

    def make(count: int = 1, first: int = 1, proc: str = "p", pad: int = 0) -> bytes:
        name = "loss" + "x" * pad
        seqs = range(first, first + count)
        return encode_lines([Gauge(proc=proc, seq=seq, ts=seq, name=name, value=0.5) for seq in seqs])

    return make
