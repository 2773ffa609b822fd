"""What verl knows while it calls us and does not say: the training step of its metrics, and how long a step took.

verl's `RLInsightLogger.log(data, step)` hands every number on without its step. We are called straight from there, so
the step is read from that call; nothing of verl is changed. `init` installs this in processes that have loaded verl.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from rl_insight.record import metrics
from rl_insight.record.recorder import recorder
from rl_insight.record.spans import Span, record_finished
from rl_insight.record.values import number, whole

TRACKING = "verl.utils.tracking"
# What verl measured of a whole step, in seconds; logged when the step is over.
STEP_SECONDS = "timing_s_step"
STEP_STATE = "training_step"
STEP_LANE = "step"

_log: CodeType | None = None


def install() -> None:
    """Have metrics that come from verl's logger carry their step. Without a logger as we know it, nothing changes."""
    global _log
    logger = getattr(sys.modules.get(TRACKING), "RLInsightLogger", None)
    log = getattr(logger, "log", None)
    code = getattr(getattr(log, "__func__", log), "__code__", None)
    if code is None or "step" not in code.co_varnames[: code.co_argcount]:
        return
    _log = code
    # verl looks the function up in our package at each call of its logger.
    sys.modules["rl_insight"].metric_gauge = metric_gauge  # type: ignore[attr-defined]


def metric_gauge(name: str, value: float, documentation: str = "", **labels: Any) -> None:
    """Record the value a quantity has now; from verl's logger, at the step it was called with."""
    if not recorder.active:
        return
    caller = sys._getframe(1)
    if caller.f_code is not _log or labels:
        metrics.metric_gauge(name, value, documentation, **labels)
        return
    step = whole(caller.f_locals.get("step"))
    if step is None:
        metrics.metric_gauge(name, value, documentation)
        return
    metrics.metric_gauge(name, value, documentation, step=step)
    if name == STEP_SECONDS:
        _record_step(step, value)


def _record_step(step: int, seconds: Any) -> None:
    """The step as a state of the driver: it ended now, and took as long as verl says."""
    taken = number(seconds)
    if taken is None or not 0 < taken < 1e7:
        return
    now = recorder.now()
    span = Span(STEP_STATE, STEP_LANE, {"global_steps": step, "source": "timing_s/step"}, True, "state")
    try:
        record_finished(span, now - int(taken * 1e9), now)
    except Exception as error:
        recorder.failed(error)
