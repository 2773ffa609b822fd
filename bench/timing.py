"""How a call is timed. Standard library only: peers' environments run it too."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

_BLOCK_NS = 1_000_000
_FEWEST = 20


class Timing(NamedTuple):
    """Nanoseconds a call: the median over repeats of each repeat's best block, the best and the median block."""

    value: float
    low: float
    high: float


def time_calls(
    loops: Mapping[str, Callable[[int], object]],
    *,
    repeats: int,
    blocks: int,
    calls: int,
    before_block: Callable[[], object] = lambda: None,
) -> dict[str, Timing]:
    """Time loops that are told how often to call: at most `calls` times a block. Every other repeat goes backwards.

    A block takes about as long for a slow call as for a fast one: the longer it is, the surer it is disturbed, and
    slow libraries would be charged for their neighbours. The best block of a repeat is the one nobody disturbed:
    neither the machine's other work nor the thread that ships what was recorded. The median block shows what they add.
    """
    bests: dict[str, list[float]] = {name: [] for name in loops}
    everything: dict[str, list[float]] = {name: [] for name in loops}
    amounts: dict[str, int] = {}
    for name, loop in loops.items():
        before_block()
        loop(calls)
        before_block()
        start = time.perf_counter_ns()
        loop(_FEWEST)
        amounts[name] = max(_FEWEST, min(calls, _BLOCK_NS * _FEWEST // (time.perf_counter_ns() - start)))
    for repeat in range(repeats):
        names = list(loops) if repeat % 2 == 0 else list(reversed(loops))
        for name in names:
            loop, amount, taken = loops[name], amounts[name], []
            for _ in range(blocks):
                before_block()
                start = time.perf_counter_ns()
                loop(amount)
                taken.append((time.perf_counter_ns() - start) / amount)
            bests[name].append(min(taken))
            everything[name] += taken
    return {
        name: Timing(statistics.median(bests[name]), min(everything[name]), statistics.median(everything[name]))
        for name in loops
    }
