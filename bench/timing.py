"""How a call is timed. Standard library only: peers' environments run it too."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


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
    """Time loops that are told how often to call. Every other repeat goes through them backwards.

    The best block of a repeat is the one nobody else disturbed: neither the machine's other work nor the thread that
    ships what was recorded. The median block shows what they add.
    """
    bests: dict[str, list[float]] = {name: [] for name in loops}
    everything: dict[str, list[float]] = {name: [] for name in loops}
    for loop in loops.values():
        before_block()
        loop(calls)
    for repeat in range(repeats):
        names = list(loops) if repeat % 2 == 0 else list(reversed(loops))
        for name in names:
            loop, taken = loops[name], []
            for _ in range(blocks):
                before_block()
                start = time.perf_counter_ns()
                loop(calls)
                taken.append((time.perf_counter_ns() - start) / calls)
            bests[name].append(min(taken))
            everything[name] += taken
    return {
        name: Timing(statistics.median(bests[name]), min(everything[name]), statistics.median(everything[name]))
        for name in loops
    }
