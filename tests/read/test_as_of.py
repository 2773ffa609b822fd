"""An answer as of a moment, asked for later, is the answer that was given at that moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness import TS, encode, running_server
from rl_insight.read.about import NoSuchRun, about
from rl_insight.read.as_of import AsOf
from rl_insight.read.facts import facts, vocabulary
from rl_insight.read.flame import flame
from rl_insight.read.fleet import fleet
from rl_insight.read.flow import flow
from rl_insight.read.hotspots import examples, hotspots
from rl_insight.read.metrics import course, metrics
from rl_insight.read.now import live
from rl_insight.read.overview import overview
from rl_insight.read.rows import Rows
from rl_insight.read.session import session
from rl_insight.read.sessions import sessions
from rl_insight.read.steps import anatomy, steps
from rl_insight.read.tasks import tasks
from rl_insight.read.timeline import lanes, statistics, summary, timeline
from stored import MS, Recorder, project

THEN = 10_000.0
LATER = 90_000.0
MOMENT = TS + round(THEN * MS)
SOON = {"weights": 1, "submitted_ns": TS + 8000 * MS}
ENDED = {**SOON, "reward": 1.0, "tokens": 7}


def two_parts() -> tuple[list[Recorder], list[int]]:
    """The processes of a run, and how many lines of each had been written at `THEN`."""
    controller, trainer = Recorder("c", "controller", heartbeat=60.0), Recorder("tr", "trainer", heartbeat=60.0)
    # By the clock put right, one of them has been silent for long.
    worker, silent = (
        Recorder("w0", "rollout", 0, heartbeat=60.0),
        Recorder("w1", "rollout", 1, clock_offset=-20_000 * MS),
    )
    recorders = [controller, trainer, worker, silent]
    # What was over by then.
    controller.fact("task.item.put", 0, {"task": "a"})
    controller.span("task", 0, 5000, part="task", task="a", id="task-a", attrs={"prompt": "1 + 1"})
    for number, end in enumerate((2000, 3000, 4500)):
        who = {"session": f"a.{number}", "task": "a", "step": 1, "trace": "A"}
        worker.span("generate", 500, end - 100, part="phase", parent=f"a.{number}", lane="w/0", **who)
        attrs = {"weights": 0, "reward": number / 2, "tokens": 10}
        worker.span("session", 400, end, part="session", id=f"a.{number}", parent="task-a", attrs=attrs, **who)
    controller.fact("queue.sample.put", 5100, {"task": "a", "queue": "replay"})
    controller.fact("queue.sample.put", 5200, {"task": "b", "queue": "replay"})
    trainer.fact("queue.sample.taken", 6000, {"task": "a", "queue": "replay", "batch": "1"}, step=1)
    trainer.span("wait_batch", 5000, 6000, part="state", lane="t", step=1)
    trainer.span("train", 6000, 7000, part="state", lane="t", step=1)
    trainer.fact("train.step.finished", 7000, {"step": "1"}, outcome="ok")
    trainer.gauge("reward_mean", 7000, 0.5, step=1)
    trainer.log("slow disk", 7100, "error")
    trainer.fact("weights.version.sent", 7200, {"weights": "1"})
    worker.fact("weights.version.applied", 7300, {"weights": "1"})
    controller.fact("task.item.finished", 7400, {"task": "a"}, attrs={"status": "accepted"})
    # What was under way.
    controller.open("task", 7900, part="task", task="b", id="task-b", attrs={"prompt": "2 + 2"})
    for number in range(2):
        who = {"session": f"b.{number}", "task": "b", "step": 2, "trace": "B"}
        worker.open("session", 8000, part="session", id=f"b.{number}", parent="task-b", attrs=SOON, **who)
        worker.open("tool", 9000 + number, part="phase", id=f"tool-b.{number}", parent=f"b.{number}", lane="w/0", **who)
    worker.open("tool", 9000, part="state", id="state-w", lane="w/0", step=2)
    trainer.open("wait_batch", 8000, part="state", id="state-t", lane="t", step=2)
    silent.open("session", 8100, part="session", id="b.2", parent="task-b", session="b.2", task="b", step=2)
    for recorder in recorders[:3]:
        recorder.gauge("alive", 9_990, 1.0)
    written = [len(recorder.lines) for recorder in recorders]
    # What came later.
    controller.span("task", 7900, 71_000, part="task", task="b", id="task-b", attrs={"prompt": "2 + 2", "tokens": 9})
    for number in range(2):
        who = {"session": f"b.{number}", "task": "b", "step": 2, "trace": "B"}
        worker.span(
            "tool", 9000 + number, 69_000, part="phase", id=f"tool-b.{number}", parent=f"b.{number}", lane="w/0", **who
        )
        worker.span(
            "session",
            8000,
            70_000,
            part="session",
            id=f"b.{number}",
            parent="task-b",
            status="error",
            attrs=ENDED,
            **who,
        )
    worker.span("tool", 9000, 69_000, part="state", id="state-w", lane="w/0", step=2)
    trainer.span("wait_batch", 8000, 72_000, part="state", id="state-t", lane="t", step=2)
    trainer.span("train", 72_000, 73_000, part="state", lane="t", step=2)
    trainer.fact("queue.sample.taken", 72_000, {"task": "b", "queue": "replay", "batch": "2"}, step=2)
    trainer.fact("train.step.finished", 73_000, {"step": "2"}, outcome="error", reason="loss is nan")
    trainer.fact("weights.version.sent", 73_000, {"weights": "2"})
    trainer.gauge("reward_mean", 73_000, 1.0, step=2)
    trainer.log("slow disk", 73_000, "error")
    controller.fact("session.sample.finished", 71_000, {"session": "a.0"}, attrs={"status": "rejected"}, reason="late")
    controller.fact("task.item.finished", 71_000, {"task": "b"}, attrs={"status": "accepted"})
    worker.span("session", 80_000, 81_000, part="session", session="c.0", task="c", step=3)
    for recorder in recorders[:3]:
        recorder.finished(LATER)
    recorders.append(Recorder("late", "rollout", 2))
    recorders[-1].lines[0]["ts"] = TS + round(LATER * MS)
    return recorders, [*written, 0]


def write(folder: Path, recorders: list[Recorder], written: list[int] | None = None) -> None:
    folder.mkdir(exist_ok=True)
    for at, recorder in enumerate(recorders):
        lines = recorder.lines if written is None else recorder.lines[: written[at]]
        if lines:
            (folder / f"lines-{recorder.proc}.jsonl").write_bytes(encode(*lines))


def timeline_of(source: Rows) -> Any:
    answer = timeline(source, "run-1", [("w0", "w/0"), ("tr", "t"), ("w1", "")], None, None, 1000, False)
    for one in (found := told(answer))["open"]:
        # The number of the line that told of it, of which a span has another one.
        del one["seq"]
    return found


def statistics_of(source: Rows) -> Any:
    found = told(statistics(source, "run-1", None, None))
    for one in found["names"]:
        del one["longest_seq"], one["longest_proc"]
    return found


WITH_NOW: dict[str, Callable[..., Any]] = {
    "overview": overview,
    "live": live,
    "steps": steps,
    "anatomy of a step that is over": lambda source, run, **now: anatomy(source, 1, run, **now),
    "anatomy of one under way": lambda source, run, **now: anatomy(source, 2, run, **now),
    "sessions": sessions,
    "sessions by tool time": lambda source, run, **now: sessions(source, run, q="status:running", sort="tool", **now),
    "a session that is over": lambda source, run, **now: session(source, "a.0", run, **now),
    "a session under way": lambda source, run, **now: session(source, "b.1", run, **now),
    "tasks": tasks,
    "flow": flow,
    "hotspots": hotspots,
    "hotspots of all": lambda source, run, **now: hotspots(source, run, scope="all", by="worker", **now),
    "examples": lambda source, run, **now: examples(source, run, scope="all", name="generate", **now),
    "flame": lambda source, run, **now: flame(source, run, scope="all", **now),
    "flame of a sample": lambda source, run, **now: flame(source, run, scope="all", sampled_above=2, **now),
}
WITHOUT: dict[str, Callable[..., Any]] = {
    "facts": lambda source, run: facts(source, run, ""),
    "fact names": lambda source, run: vocabulary(source, run, None, None),
    "fleet": lambda source, run: fleet(source, run, None, None),
    "metrics": metrics,
    "a metric": lambda source, run: course(source, run, "reward_mean"),
    "timeline": lambda source, run: timeline_of(source),
    "lanes": lanes,
    "lanes' summary": lambda source, run: summary(source, run, None, None, 20),
    "statistics": lambda source, run: statistics_of(source),
}


def told(answer: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(answer))


def test_an_answer_as_of_then_is_the_answer_that_was_given_then(tmp_path: Path) -> None:
    recorders, written = two_parts()
    write(tmp_path / "lines", recorders, written)
    store = project(tmp_path / "lines", tmp_path / "data")
    given = {name: told(ask(store, "run-1", now=MOMENT)) for name, ask in WITH_NOW.items()}
    given |= {name: told(ask(AsOf(store, MOMENT), "run-1")) for name, ask in WITHOUT.items()}
    store.close()
    write(tmp_path / "lines", recorders)
    store = project(tmp_path / "lines", tmp_path / "data")
    try:
        for name, ask in (WITH_NOW | WITHOUT).items():
            assert told(ask(AsOf(store, MOMENT), "run-1")) == given[name], name
        assert about(AsOf(store, MOMENT), "run-1").state == "live"
        assert about(store, "run-1", TS + round(LATER * MS) + 60 * 10**9).state == "lost"
        assert given["live"]["open_sessions"] == 3
        assert [one["proc"] for one in given["live"]["lost"]] == ["w1"]
    finally:
        store.close()


def test_a_run_that_had_not_begun_is_not_there(tmp_path: Path) -> None:
    recorders, _ = two_parts()
    write(tmp_path / "lines", recorders)
    store = project(tmp_path / "lines", tmp_path / "data")
    try:
        with pytest.raises(NoSuchRun):
            overview(AsOf(store, TS - 1), "run-1")
    finally:
        store.close()


ROUTES = [
    "overview", "live", "steps", "steps/1", "steps/2", "sessions", "sessions/b.1", "tasks", "flow", "hotspots",
    "hotspots?scope=all", "hotspots/examples?scope=all&name=generate", "flame?scope=all", "fleet", "facts", "metrics",
    "timeline/lanes", "timeline/summary",
]  # fmt: skip


def close(one: Any, other: Any, where: str) -> None:
    """The same; moments go through JSON as milliseconds, which costs them some hundred nanoseconds."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            close(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for at, (left, right) in enumerate(zip(one, other, strict=True)):
            close(left, right, f"{where}[{at}]")
    elif isinstance(one, float) and isinstance(other, float):
        assert one == pytest.approx(other, rel=1e-9 if abs(one) < 1e11 else 0, abs=2e-3 if abs(one) > 1e11 else 1e-5), (
            where
        )
    else:
        assert one == other, where


def test_the_server_repeats_what_it_said_live(tmp_path: Path) -> None:
    recorders, written = two_parts()
    with running_server(tmp_path / "data") as server:
        # By then is now: what comes later bears times that are a minute off, and all is asked by then.
        shift = time.time_ns() - MOMENT
        for recorder in recorders:
            for line in recorder.lines:
                line["ts"] += shift
                if "submitted_ns" in (attrs := line.get("attrs") or {}):
                    line["attrs"] = {**attrs, "submitted_ns": attrs["submitted_ns"] + shift}
        for recorder, count in zip(recorders, written, strict=True):
            if count:
                assert server.post(encode(*recorder.lines[:count])).status == 200
        server.wait_stored()
        live_answers = {route: server.request("GET", f"/api/v1/runs/run-1/{route}").body for route in ROUTES}
        for recorder, count in zip(recorders, written, strict=True):
            assert server.post(encode(*recorder.lines[count:])).status == 200
        server.wait_stored()
        for route, answer in live_answers.items():
            sign = "&" if "?" in route else "?"
            again = server.request("GET", f"/api/v1/runs/run-1/{route}{sign}at={answer['at']!r}")
            assert again.status == 200, again.body
            close(again.body, answer, route)
        assert server.request("GET", "/api/v1/runs/run-1/overview?at=yesterday").status == 400
        assert server.request("GET", "/api/v1/runs/run-1/overview?at=1000").status == 404
        asked = server.request("GET", f"/api/v1/runs/run-1/live?sql=1&at={live_answers['live']['at']!r}").body["asked"]
        assert all("as_of" in one["params"] for one in asked)
