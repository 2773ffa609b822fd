"""Each read model of tasks and sessions answers its question, on lines written by hand with known times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import TS
from rl_insight.read.about import NoSuchRun, about
from rl_insight.read.flow import flow
from rl_insight.read.now import live
from rl_insight.read.overview import overview
from rl_insight.read.search import BadSearch
from rl_insight.read.session import NoSuchSession, session
from rl_insight.read.sessions import sessions
from rl_insight.read.steps import anatomy, steps
from rl_insight.read.tasks import tasks
from rl_insight.store import Store
from small_run import small_run
from stored import MS, Recorder, stored


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stored(tmp_path_factory.mktemp("models"), *small_run()) as store:
        yield store


LATER = TS + 18_000 * MS  # w1 was last heard of at 2.1 s: more than 15 s ago; the others at 9.999 s


def test_a_session_says_where_its_time_went(store: Store) -> None:
    one = next(one for one in sessions(store, now=LATER).sessions if one.session == "a.3")
    assert (one.status, one.task, one.worker, one.step, one.trained_step) == ("accepted", "a", "rollout-0", 1, 1)
    assert (one.total_s, one.queue_s, one.generate_s, one.tool_s) == (1.0, 0.1, 0.2, 0.7)
    assert one.idle_s == pytest.approx(0.1)
    assert (one.turns, one.tokens, one.reward, one.weights, one.staleness) == (1, 10, 1.0, 0, 0)
    assert one.start == pytest.approx(TS / 1e6 + 100)


def test_the_last_word_counts_and_a_task_speaks_for_its_sessions(store: Store) -> None:
    found = {one.session: (one.status, one.reason, one.trained_step) for one in sessions(store, now=LATER).sessions}
    assert found["b.0"] == ("accepted", None, 2)
    assert found["b.3"] == ("rejected", "too long", None)
    assert found["c.0"] == ("lost", None, None)
    assert found["c.1"] == ("running", None, None)
    assert found["c.2"] == ("failed", "w1 is gone", None)


def test_open_sessions_have_an_age_and_a_stage(store: Store) -> None:
    found = {one.session: one for one in sessions(store, q="stage:*", now=LATER).sessions}
    assert found.keys() == {"c.0", "c.1"}
    assert (found["c.1"].stage, found["c.1"].open, found["c.1"].lost) == ("generate", True, False)
    assert (found["c.1"].age_s, found["c.1"].stage_s) == (15.5, 15.4)
    assert (found["c.0"].stage, found["c.0"].lost) == ("tool", True)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("task:a reward>0.5", {"a.0", "a.3"}),
        ("a.", {"a.0", "a.1", "a.2", "a.3"}),
        ("session:b.1", {"b.1"}),
        ("step:2 -status:rejected,running,lost", {"b.0", "b.1", "b.2"}),
        ("step:1..1", {"a.0", "a.1", "a.2", "a.3"}),
        ("status:failed", {"c.2"}),
        ("error:gone", {"c.2"}),
        ('error:"TOO long"', {"b.3"}),
        ("worker:rollout-1", {"c.0"}),
        ("tool>=0.3 total<1", {"a.2"}),
        ("staleness>=1", {"b.0", "b.1"}),
        ("turns=1 weights!=0", set()),
        ("'; DROP TABLE span; --", set()),
    ],
)
def test_the_search_finds(store: Store, q: str, expected: set[str]) -> None:
    page = sessions(store, q=q, now=LATER)
    found = {one.session for one in page.sessions}
    assert (found, page.total) == (expected, len(expected))


@pytest.mark.parametrize("q", ["colour:red", "reward>high", "status:maybe", "nothing=1"])
def test_a_search_that_cannot_be_understood_says_why(store: Store, q: str) -> None:
    with pytest.raises(BadSearch):
        sessions(store, q=q, now=LATER)


def test_pages_do_not_overlap(store: Store) -> None:
    whole = [one.session for one in sessions(store, sort="total", now=LATER).sessions]
    pages = [sessions(store, sort="total", limit=4, offset=offset, now=LATER) for offset in (0, 4, 8)]
    assert [one.session for page in pages for one in page.sessions] == whole
    assert {page.total for page in pages} == {len(whole)} == {11}


def test_an_old_session_is_found_when_only_the_newest_are_considered(store: Store) -> None:
    capped = sessions(store, sort="generate", cap=3, now=LATER)
    assert capped.capped
    assert {one.session for one in capped.sessions} == {"c.0", "c.1", "c.2"}
    assert {one.session for one in sessions(store, step=1, sort="generate", cap=5, now=LATER).sessions} >= {"a.0"}


def test_a_session_is_told_in_causal_order(store: Store) -> None:
    story = session(store, "a.0", now=LATER)
    assert [(span.depth, span.kind, span.turn) for span in story.spans] == [
        (0, "session", None),
        (1, "turn", 1),
        (2, "phase", 1),
        (2, "phase", 1),
    ]
    assert [span.attrs for span in story.spans if span.name == "tool"] == [{"tool": "search"}]
    assert [log.message for log in story.logs] == ["odd answer"]
    assert [fact.name for fact in story.facts] == [
        "task.item.put",
        "queue.sample.put",
        "queue.sample.taken",
        "task.item.finished",
    ]
    assert [one.session for one in story.neighbours] == ["a.1", "a.2", "a.3"]
    moments = [event.at for event in story.events]
    assert moments == sorted(moments)
    assert len(story.events) == len(story.spans) + len(story.facts) + len(story.logs)
    with pytest.raises(NoSuchSession):
        session(store, "nobody", now=LATER)


def test_groups_without_spread_are_named(store: Store) -> None:
    found = {one.task: one for one in tasks(store, now=LATER).tasks}
    assert (found["a"].reward, found["a"].spread, found["a"].zero_spread) == (0.5, 0.5, False)
    assert (found["b"].accepted, found["b"].rejected, found["b"].zero_spread) == (3, 1, True)
    assert (found["c"].status, found["c"].open, found["c"].failed, found["c"].lost) == ("running", True, 1, 1)
    flat = tasks(store, zero_spread=True, now=LATER)
    assert [one.task for one in flat.tasks] == ["b"]
    assert (tasks(store, now=LATER).summary.with_rewards, tasks(store, now=LATER).summary.zero_spread) == (2, 1)
    assert [one.task for one in tasks(store, q="spread>0.1", now=LATER).tasks] == ["a"]
    assert [one.task for one in tasks(store, step=2, now=LATER).tasks] == ["c", "b"]


def test_a_step_says_where_its_time_went_and_what_was_in_its_batch(store: Store) -> None:
    found = steps(store, now=LATER)
    assert found.trainer == ["trainer-0"]
    first, second = found.steps
    assert (first.step, first.step_s, first.wait_ratio, first.outcome) == (1, 0.4, 0.25, "ok")
    assert [(part.name, part.s, part.wait) for part in first.stack] == [
        ("train", 0.3, False),
        ("wait_batch", 0.1, True),
    ]
    assert (second.outcome, second.reason) == ("error", "loss is nan")
    assert (first.tasks, first.sessions, first.reward, first.tokens, first.zero_spread) == (1, 4, 0.5, 40, 0)
    assert (second.sessions, second.zero_spread, second.staleness_max) == (3, 1, 1)
    assert [(one.weights, one.sessions, one.staleness) for one in second.versions] == [(0, 2, 1), (1, 1, 0)]
    assert first.slowest is not None
    assert (first.slowest.session, first.slowest.worker) == ("a.3", "rollout-0")
    # Of 100 to 1100 ms, from 700 ms on only the slowest of the four still ran; it took 1.0 of 2.5 session seconds.
    tail = first.tail[2]
    assert (tail.percent, tail.sessions) == (10, 1)
    assert tail.wall_share == pytest.approx(0.4)
    assert tail.time_share == pytest.approx(1.0 / 2.5)
    assert first.tool_s == pytest.approx(0.1 + 0.2 + 0.3 + 0.7)


def test_the_anatomy_of_a_batch_shows_what_each_session_did_when(store: Store) -> None:
    batch = anatomy(store, 1, now=LATER)
    assert [one.session for one in batch.sessions] == ["a.0", "a.1", "a.2", "a.3"]
    since = [(stage, start - TS / 1e6, end - TS / 1e6) for stage, start, end, _ in batch.sessions[0].intervals]
    assert [one[0] for one in since] == ["queue", "generate", "tool"]
    assert [moment for one in since for moment in one[1:]] == pytest.approx([0, 100, 100, 300, 300, 400], abs=1e-3)


def test_flow_follows_sessions_from_submission_to_training(store: Store) -> None:
    found = flow(store, now=LATER)
    funnel = found.funnel
    assert (funnel.submitted, funnel.started, funnel.generated, funnel.trained) == (11, 10, 8, 7)
    assert (funnel.accepted, funnel.rejected, funnel.failed, funnel.running, funnel.lost) == (7, 1, 1, 1, 1)
    assert {(one.status, one.reason): one.sessions for one in found.reasons} == {
        ("rejected", "too long"): 1,
        ("failed", "w1 is gone"): 1,
        ("lost", None): 1,
    }
    assert (found.tasks.accepted, found.tasks.dropped, found.tasks.open) == (2, 1, 1)
    (queue,) = found.queues
    assert (queue.queue, queue.put, queue.taken, queue.evicted) == ("replay", 3, 2, 1)
    assert (queue.depth, queue.depth_max) == (0, 2)
    assert (queue.dwell_p50_s, queue.dwell_max_s) == (0.4, 0.95)
    assert [(one.reason, one.count) for one in queue.evictions] == [("too stale", 1)]
    assert {one.worker: one.behind for one in found.workers} == {"rollout-0": 0, "rollout-1": 1}
    assert {one.weights: one.sessions for one in found.versions} == {0: 6, 1: 2}


def test_suspects_come_first_and_say_why(store: Store) -> None:
    found = live(store, now=LATER)
    assert (found.state, found.step, found.open_sessions, found.open_tasks) == ("live", 2, 2, 1)
    first, second = found.sessions
    assert (first.session, first.lost, first.suspect, first.stage, first.worker) == (
        "c.0",
        True,
        True,
        "tool",
        "rollout-1",
    )
    assert first.why == "its process is gone"
    assert (second.session, second.suspect, second.lost) == ("c.1", True, False)
    assert second.why is not None
    assert second.why.startswith("in generate for 15.4 s")
    assert [(one.worker, one.open_sessions) for one in found.lost] == [("rollout-1", 1)]
    assert {(one.stage, one.sessions) for one in found.stages} == {("tool", 1), ("generate", 1)}
    lanes = {(one.worker, one.lane): one for one in found.lanes}
    assert lanes["rollout-1", "w1/0"].state == "tool"
    assert lanes["rollout-1", "w1/0"].lost
    assert (lanes["trainer-0", "t"].state, lanes["trainer-0", "t"].open) == ("train", False)
    assert [(one.task, one.open_sessions) for one in found.tasks] == [("c", 2)]


def test_an_overview_has_it_all(store: Store) -> None:
    found = overview(store, now=LATER)
    assert (found.state, found.step, found.processes, found.lost_processes) == ("live", 2, 4, 1)
    assert found.curves.reward is not None
    assert (found.curves.reward.name, found.curves.reward.points) == ("reward_mean", [(1, 0.5), (2, 0.5)])
    assert found.curves.loss is None
    assert {one.text for one in found.errors} == {"loss is not finite", "train.step.finished: loss is nan"}
    assert [one.step for one in found.steps] == [1, 2]
    assert found.sessions.submitted == 11


def test_a_run_that_is_not_there_is_said_to_be(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NoSuchRun, match="no run 'other'"):
        about(store, "other")
    with stored(tmp_path) as empty, pytest.raises(NoSuchRun, match="nothing is recorded"):
        about(empty)


def test_a_run_without_steps_tasks_or_sessions_has_answers_too(tmp_path: Path) -> None:
    recorder = Recorder("p")
    recorder.gauge("loss", 1, 0.5)
    recorder.finished(5)
    with stored(tmp_path, recorder.body()) as store:
        assert sessions(store).total == 0
        assert tasks(store).total == 0
        assert steps(store).steps == []
        assert flow(store).funnel.submitted == 0
        assert live(store).sessions == []
        assert overview(store).step is None
        assert anatomy(store, 1).step is None


def test_without_facts_about_batches_the_recorded_step_counts(tmp_path: Path) -> None:
    worker = Recorder("w")
    for number in range(3):
        worker.span("session", 0, 100, part="session", session=f"s{number}", step=number)
    with stored(tmp_path, worker.body()) as store:
        assert {one.step: one.sessions for one in steps(store).steps} == {0: 1, 1: 1, 2: 1}
        assert [one.session for one in anatomy(store, 1).sessions] == ["s1"]
