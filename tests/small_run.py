"""A run of two steps, written by hand so that every figure about it is known."""

from __future__ import annotations

from harness import TS
from stored import Recorder


def small_run() -> list[bytes]:
    """Two steps of four sessions each, a worker that is lost, a session that hangs, and a queue that forgets."""
    controller, trainer = Recorder("c", "controller"), Recorder("tr", "trainer")
    fine, gone = Recorder("w0", "rollout", 0), Recorder("w1", "rollout", 1)
    controller.fact("task.item.put", 0, {"task": "a"})
    controller.span("task", 0, 1200, part="task", task="a", id="task-a", trace="A")
    for number, (end, reward) in enumerate([(500, 1.0), (600, 0.0), (700, 0.0), (1100, 1.0)]):
        name = f"a.{number}"
        who = {"session": name, "task": "a", "trace": "A"}
        attrs = {"submitted_ns": TS, "weights": 0, "reward": reward, "tokens": 10}
        fine.span("generate", 100, 300, part="phase", parent=f"turn-{name}", id=f"gen-{name}", step=1, **who)
        fine.span("tool", 300, end - 100, part="phase", parent=f"turn-{name}", attrs={"tool": "search"}, step=1, **who)
        fine.span("turn", 100, end - 100, part="turn", parent=name, id=f"turn-{name}", attrs={"turn": 1}, step=1, **who)
        fine.span("session", 100, end, part="session", parent="task-a", id=name, attrs=attrs, step=1, **who)
    for number in range(4):
        who = {"session": f"b.{number}", "task": "b", "step": 2}
        attrs = {"weights": 0 if number < 2 else 1, "reward": 0.5}
        fine.span("generate", 1000, 1400, part="phase", **who)
        fine.span("session", 1000, 1500, part="session", attrs=attrs, **who)
    fine.log("odd answer", 320, "warning", session="a.0", task="a", parent="gen-a.0")
    gone.open("session", 2000, part="session", session="c.0", task="c", step=2, id="open-c.0")
    gone.open("tool", 2100, part="phase", session="c.0", task="c", parent="open-c.0", lane="w1/0")
    gone.open("tool", 2100, part="state", lane="w1/0")
    fine.open("session", 2500, part="session", session="c.1", task="c", step=2)
    fine.open("turn", 2500, part="turn", session="c.1", task="c")
    fine.open("generate", 2600, part="phase", session="c.1", task="c", lane="w0/1")
    controller.open("task", 1900, part="task", task="c", id="task-c")
    controller.fact(
        "session.sample.finished",
        2200,
        {"session": "c.2", "task": "c"},
        attrs={"status": "failed"},
        reason="w1 is gone",
    )
    for task, at in (("a", 1200), ("b", 1500), ("x", 1550)):
        controller.fact("queue.sample.put", at, {"task": task, "queue": "replay"})
    controller.fact("queue.sample.evicted", 2500, {"task": "x", "queue": "replay"}, reason="too stale")
    trainer.fact("weights.version.sent", 1800, {"weights": "1"})
    fine.fact("weights.version.applied", 1810, {"weights": "1"})
    gone.fact("weights.version.received", 10, {"weights": "0"})
    for step, task, at in ((1, "a", 1300), (2, "b", 1900)):
        trainer.fact("queue.sample.taken", at, {"task": task, "queue": "replay", "batch": f"batch-{step}"}, step=step)
        trainer.span("wait_batch", at - 100, at, part="state", lane="t", step=step)
        trainer.span("train", at, at + 300, part="state", lane="t", step=step)
        trainer.gauge("reward_mean", at, 0.5, step=step)
    trainer.fact("train.step.finished", 1600, {"step": "1"}, outcome="ok")
    trainer.fact("train.step.finished", 2200, {"step": "2"}, outcome="error", reason="loss is nan")
    trainer.log("loss is not finite", 2150, "error")
    controller.fact("task.item.finished", 1310, {"task": "a"}, attrs={"status": "accepted"})
    controller.fact("task.item.finished", 1910, {"task": "b"}, attrs={"status": "accepted"})
    controller.fact(
        "session.sample.finished", 1400, {"session": "b.3"}, attrs={"status": "rejected"}, reason="too long"
    )
    controller.fact("task.item.finished", 2600, {"task": "x"}, attrs={"status": "dropped"}, reason="too stale")
    # All but one are heard from until now; that one fell silent long ago, in its own last words' time.
    for recorder in (controller, trainer, fine):
        recorder.gauge("alive", 9_999, 1.0)
    silent = Recorder("w1", "rollout", 1, heartbeat=0.1)
    silent.lines[1:] = gone.lines[1:]
    return [recorder.body() for recorder in (controller, trainer, fine, silent)]
