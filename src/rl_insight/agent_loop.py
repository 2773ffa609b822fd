"""Sessions of an agent loop, in the form that verl and uni-agent call."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rl_insight.record.metrics import metric_gauge
from rl_insight.record.recorder import recorder
from rl_insight.record.spans import trace_span
from rl_insight.record.values import number, text, whole


def agent_loop_lane_id(experiment_name: Any, sample: Any, session: Any, traj: Any) -> str:
    """The lane on which a trajectory is shown."""
    return f"experiment={text(experiment_name)}/sample={text(sample)}/session={text(session)}/traj={text(traj)}"


class AgentLoopSession:
    """One session of an agent loop: who it is, when it began, and its end."""

    def __init__(self, identity: dict[str, Any], start_ns: int) -> None:
        self.identity = identity
        self.start_ns = start_ns

    def finish(
        self,
        *,
        trajectories: Sequence[Any],
        status: str,
        runner_name: str | None = None,
        reward_source: str | None = None,
        finished: bool | None = None,
    ) -> None:
        """Record the session as a span, and each of its trajectories as a span of its own lane."""
        if not recorder.active:
            return
        end_ns = recorder.now()
        who = self.identity
        try:
            trajectories = [] if trajectories is None else list(trajectories)
        except Exception as error:
            recorder.failed(error)
            trajectories = []
        shared = {
            **who,
            "status": text(status),
            "runner_name": runner_name or "",
            "reward_source": reward_source or "",
        }
        trace_span(
            "agent_session",
            self.start_ns,
            end_ns,
            {
                **shared,
                "num_trajectories": len(trajectories),
                "finished": "" if finished is None else finished,
            },
        )
        for index, trajectory in enumerate(trajectories):
            chain = whole(_asked(trajectory, "chain_id"))
            name = str(index if chain is None else chain - 1)
            reward = number(_asked(trajectory, "reward_score"))
            turns = number(_asked(trajectory, "num_turns"))
            lane = agent_loop_lane_id(who["experiment_name"], who["sample"], who["session"], name)
            trace_span(
                "agent_trajectory",
                self.start_ns,
                end_ns,
                {**shared, "traj": name, "state_lane_id": lane, "reward": reward, "turns": turns},
            )
            if reward is not None:
                metric_gauge("agent_loop_reward", reward)


def _asked(trajectory: Any, name: str) -> Any:
    try:
        return getattr(trajectory, name, None)
    except Exception:
        return None


def agent_loop_session(
    *,
    project: Any = None,
    experiment_name: Any,
    sample: Any,
    session: Any,
    traj: Any = 0,
    uid: Any = None,
    global_steps: Any = None,
    session_id: Any = None,
) -> AgentLoopSession:
    """Begin a session of an agent loop; call `finish` on what is returned."""
    identity = {
        "project": text(project),
        "experiment_name": text(experiment_name),
        "sample": text(sample),
        "session": text(session),
        "traj": text(traj),
        "state_lane_id": agent_loop_lane_id(experiment_name, sample, session, traj),
        "uid": text(uid),
        "global_steps": "" if global_steps is None else global_steps,
        "session_id": text(session_id),
    }
    # On the recorder's clock, on which the end will be: a step of the wall clock must not show as a length.
    return AgentLoopSession(identity, recorder.now() if recorder.active else time.time_ns())
