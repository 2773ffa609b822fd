"""Tasks, sessions, turns, phases; and the agent loop's sessions that verl and uni-agent call."""

import asyncio
from types import SimpleNamespace

import pytest

import rl_insight as insight
from recorded import named
from rl_insight.agent_loop import agent_loop_lane_id, agent_loop_session
from rl_insight.testing import Lines


def test_everything_inside_knows_its_task_and_session(lines: Lines) -> None:
    with insight.task("t1", submitted_ns=5, difficulty="hard") as task:
        with insight.session() as session, insight.turn(1), insight.phase("generate", tokens=3):
            insight.metric_gauge("reward", 0.5)
            insight.fact("tool.call.started")
        session.finish("accepted", reward=1.0)
        task.finish("accepted")
    spans = {line["name"]: line for line in lines("span")}
    assert {line["task"] for line in lines("span")} == {"t1"}
    assert spans["task"]["attrs"] == {"difficulty": "hard", "submitted_ns": 5}
    for name in ("session", "turn", "generate"):
        assert spans[name]["session"] == session.id
    assert [spans[name]["part"] for name in ("task", "session", "turn", "generate")] == [
        "task",
        "session",
        "turn",
        "phase",
    ]
    assert spans["generate"]["parent"] == spans["turn"]["id"]
    assert (lines("gauge")[0]["task"], lines("gauge")[0]["session"]) == ("t1", session.id)
    closing = [line for line in lines("fact") if line["name"].endswith("finished")]
    assert [line["tags"] for line in closing] == [{"session": session.id, "task": "t1"}, {"task": "t1"}]
    assert closing[0]["attrs"] == {"reward": 1.0, "status": "accepted"}


def test_an_exception_closes_session_and_task_as_failed(lines: Lines) -> None:
    with pytest.raises(ValueError, match="no"), insight.task("t1"), insight.session("s1"):
        raise ValueError("no")
    assert [(line["tags"], line["attrs"]["status"], line["reason"]) for line in lines("fact")] == [
        ({"session": "s1", "task": "t1"}, "failed", "ValueError: no"),
        ({"task": "t1"}, "failed", "ValueError: no"),
    ]
    assert [line["status"] for line in lines("span")] == ["error", "error"]


def test_when_it_was_handed_in_may_be_said_on_the_same_line(lines: Lines) -> None:
    with insight.task("t1").submitted(7).set(pool="a"):
        pass
    assert lines("span")[0]["attrs"] == {"submitted_ns": 7, "pool": "a"}


def test_each_call_of_a_decorated_function_is_a_session_of_its_own(lines: Lines) -> None:
    @insight.session(model="m")
    async def sample(number: int) -> int:
        await asyncio.sleep(0)
        return number

    async def main() -> None:
        async with insight.task("t"):
            assert await asyncio.gather(sample(1), sample(2)) == [1, 2]

    asyncio.run(main())
    sessions = named(lines(), "session")
    assert len({line["session"] for line in sessions}) == 2
    assert {line["task"] for line in sessions} == {"t"}


def test_one_task_object_entered_again_and_inside_itself(lines: Lines) -> None:
    task = insight.task("t1")
    with task, task:
        pass
    with task:
        pass
    assert len(lines("span")) == 3
    assert insight.current_span() is None


def test_a_carrier_takes_task_and_time_of_submission_along(lines: Lines) -> None:
    carrier = insight.submit("t/1 ä", pool="a", name="n", tags="x")
    with insight.extract(carrier), insight.session("s1"):
        insight.metric_gauge("x", 1)
    put, session = lines("fact")[0], lines("span")[0]
    assert put["tags"] == {"task": "t/1 ä"}
    assert put["attrs"] == {"pool": "a", "name": "n", "tags": "x"}
    assert session["task"] == "t/1 ä"
    assert session["attrs"]["submitted_ns"] >= put["ts"] - 1_000_000
    assert lines("gauge")[0]["task"] == "t/1 ä"


def test_another_process_may_say_how_it_ended(lines: Lines) -> None:
    insight.finish_session("s1", "rejected", "too short", task_id="t1", reward=0.0, name="n")
    insight.finish_task("t1", "dropped")
    insight.finish_task("t2", "splendid")
    facts = lines("fact")
    assert facts[0]["attrs"] == {"reward": 0.0, "status": "rejected", "name": "n"}
    assert facts[0]["reason"] == "too short"
    assert facts[1]["tags"] == {"task": "t1"}
    assert insight.status().problems == {"bad_status": 1}


def test_ids_may_be_anything_that_has_a_text(lines: Lines) -> None:
    with insight.task(17), insight.session(("a", 1)):
        pass
    assert (lines("span")[0]["task"], lines("span")[0]["session"]) == ("17", "['a', 1]")


def test_agent_loop_sessions_as_verl_calls_them(lines: Lines) -> None:
    session = agent_loop_session(
        project="p", experiment_name="e", sample=3, session=1, uid="u", global_steps=7, session_id="sid"
    )
    assert session.identity["state_lane_id"] == "experiment=e/sample=3/session=1/traj=0"
    assert session.start_ns > 0
    trajectories = [
        SimpleNamespace(chain_id=1, reward_score=0.5, num_turns=2),
        SimpleNamespace(chain_id=None, reward_score=None),
        object(),
    ]
    session.finish(
        trajectories=trajectories, status="ok", runner_name="tool_agent", reward_source="verifier", finished=True
    )
    whole, *parts = lines("span")
    assert whole["name"] == "agent_session"
    assert (whole["ts"], whole["step"], whole["attrs"]["num_trajectories"]) == (session.start_ns, 7, 3)
    assert [part["lane"] for part in parts] == [agent_loop_lane_id("e", 3, 1, traj) for traj in (0, 1, 2)]
    assert parts[0]["attrs"]["reward"] == 0.5
    assert [line["value"] for line in lines("gauge")] == [0.5]
    assert insight.agent_loop_session is agent_loop_session


def test_an_agent_loop_session_takes_what_it_is_given(lines: Lines) -> None:
    numpy = pytest.importorskip("numpy")

    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

        @property
        def reward_score(self) -> float:
            raise RuntimeError

    session = agent_loop_session(experiment_name=Odd(), sample=None, session=numpy.int64(1))
    session.finish(trajectories=numpy.array([1.0, 2.0]), status="ok")
    session.finish(trajectories=[Odd()], status=Odd())  # type: ignore[arg-type]
    session.finish(trajectories=5, status="ok")  # type: ignore[arg-type]
    assert len(lines("span")) == 3 + 2 + 1
