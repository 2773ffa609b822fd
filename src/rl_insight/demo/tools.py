"""The tools the agent calls: right at once, but as slow and as uneven as remote tools are."""

from __future__ import annotations

import random

from rl_insight.demo.options import FAULTY_TOOL, Options
from rl_insight.demo.puzzle import Call, calculate

TIMEOUT = 2.0


def latency(rng: random.Random, typical: float) -> float:
    """A waiting time with a long tail: mostly near `typical`, now and then many times that."""
    seconds = typical * rng.lognormvariate(0.0, 0.5)
    return seconds * 8 if rng.random() < 0.01 else seconds


async def use(call: Call, options: Options, rng: random.Random, version: int) -> int:
    """The tool's answer, after the time it takes; raises TimeoutError when that is too long."""
    # Remote tools fail now and then: a few sessions of a run end in a timeout, also when nothing is wrong.
    seconds = latency(rng, 0.035) if rng.random() > 0.0003 else 2 * TIMEOUT
    if call.tool == FAULTY_TOOL and options.has("slow-tool", version):
        seconds = min(seconds * 10, TIMEOUT * 0.9)
    await options.pause(min(seconds, TIMEOUT))
    if seconds > TIMEOUT:
        raise TimeoutError(f"{call.tool} did not answer within {TIMEOUT} s")
    return calculate(call.tool, call.left, call.right)
