"""RL-Insight shows what a distributed RL training run is doing, live, and replays it afterwards.

import rl_insight as insight

insight.init(project="math", experiment_name="grpo-7b")
insight.metric_gauge("reward_mean", 0.7)
with insight.trace_state("rollout", state_lane_id="engine-0"):
    ...
insight.close()
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rl_insight.record.facts import fact, operation
from rl_insight.record.logs import log
from rl_insight.record.metrics import (
    metric_count,
    metric_distribution,
    metric_gauge,
    metric_histogram,
    metric_value,
)
from rl_insight.record.propagation import extract, inject
from rl_insight.record.recorder import recorder as _recorder
from rl_insight.record.spans import current_span, trace_op, trace_span, trace_state
from rl_insight.record.tasks import finish_session, finish_task, phase, session, submit, task, turn
from rl_insight.version import __version__

if TYPE_CHECKING:
    from rl_insight.adapters.prometheus import update_prometheus_config
    from rl_insight.agent_loop import agent_loop_session
    from rl_insight.record.handler import LogHandler
    from rl_insight.ship.shipment import Status

__all__ = [
    "LogHandler",
    "__version__",
    "agent_loop_session",
    "close",
    "current_span",
    "extract",
    "fact",
    "finish",
    "finish_session",
    "finish_task",
    "flush",
    "init",
    "inject",
    "log",
    "metric_count",
    "metric_distribution",
    "metric_gauge",
    "metric_histogram",
    "metric_value",
    "operation",
    "phase",
    "session",
    "set_step",
    "status",
    "submit",
    "task",
    "trace_op",
    "trace_span",
    "trace_state",
    "turn",
    "update_prometheus_config",
]


def init(
    project: str | None = None,
    experiment_name: str | None = None,
    config: Mapping[str, Any] | str | Any = None,
    *,
    run: str | None = None,
    role: str | None = None,
    rank: int | None = None,
    redactor: Callable[[str, Any], Any] | None = None,
    **labels: Any,
) -> None:
    """Start recording in this process. Child processes that call it join the same run.

    `config` is a mapping, an OmegaConf `DictConfig`, the path of a YAML file, or nothing; the environment wins over
    it. Raises `rl_insight.config.ConfigError` for a setting that is wrong; no later call raises. A second call
    while recording changes nothing.
    """
    if _recorder.active and not ("ray" in sys.modules and _was_left_by_ray()):
        return
    from rl_insight.config import ConfigError, load
    from rl_insight.record.values import shown, text, whole
    from rl_insight.ship.lifecycle import start

    if "verl.utils.tracking" in sys.modules:
        from rl_insight.adapters.verl import install

        install()
    settings = load(config)
    settings.project = text(project) if project is not None else settings.project
    settings.experiment = text(experiment_name) if experiment_name is not None else settings.experiment
    settings.run = text(run) or settings.run
    settings.role = text(role) or settings.role
    if rank is not None:
        settings.rank = whole(rank)
        if settings.rank is None:
            raise ConfigError(f"setting rank: a whole number is wanted, not {shown(rank)}")
    settings.labels = {**settings.labels, **{key: text(value) for key, value in labels.items()}}
    if "ray" in sys.modules:
        from rl_insight.ship.ray import in_ray

        if in_ray():
            from rl_insight.adapters.ray_job import enter

            named = (project, experiment_name, config, run)
            enter(settings, redactor, knows=any(one is not None for one in named), own_run=run is not None)
            return
    start(settings, redactor)


def _was_left_by_ray() -> bool:
    """Whether the recording that is on belongs to a job that is over; it ends then."""
    from rl_insight.ship.lifecycle import resting, stop

    left = resting()
    if left:
        stop()
    return left


def close(timeout: float | None = None) -> None:
    """Deliver what was recorded, or keep it on disk for the next process, and stop recording."""
    if _recorder.active:
        from rl_insight.ship.lifecycle import stop

        stop(timeout)


finish = close


def flush(timeout: float = 5.0) -> bool:
    """Wait until everything recorded so far is delivered; False when time ran out."""
    if not _recorder.active:
        return True
    from rl_insight.ship.lifecycle import flush as flush_now

    return flush_now(timeout)


def status() -> Status:
    """How recording goes in this process: what waits, what was sent, lost or cleaned, and the last error."""
    from rl_insight.ship.lifecycle import status as status_now

    return status_now()


def set_step(step: int | None) -> None:
    """Give everything recorded from now on in this process this training step; None, none."""
    if step is None:
        _recorder.step = None
        return
    from rl_insight.record.values import shown, whole

    found = whole(step)
    if found is None:
        _recorder.problem("bad_step", f"a step must be a whole number, not {shown(step)}")
    else:
        _recorder.step = found


def __getattr__(name: str) -> Any:
    # Loaded when first used: most processes never do.
    if name == "agent_loop_session":
        from rl_insight.agent_loop import agent_loop_session

        return agent_loop_session
    if name == "LogHandler":
        from rl_insight.record.handler import LogHandler

        return LogHandler
    if name == "update_prometheus_config":
        from rl_insight.adapters.prometheus import update_prometheus_config

        return update_prometheus_config
    raise AttributeError(f"module 'rl_insight' has no attribute {name!r}")
