"""Lines that hold whatever a line may hold and OTLP has another shape for."""

from __future__ import annotations

from stored import Recorder


def odd_lines() -> bytes:
    """Whatever a line may hold that OTLP has another shape for."""
    odd = Recorder("odd", "rollout", 3, run="odd-run", project="p", labels={"rl.x": "y", "": "e"}, attrs={"help": {}})
    odd.span("no ids", 0, 1, id=None)
    odd.span("ids of ours", 1, 2, id="00f067aa0ba902b7", trace="4bf92f3577b34da6a3ce929d0e0e4736", parent="a" * 16)
    odd.span("ids of others", 2, 3, id="UPPER", trace="not hex", parent="0" * 16, lane="", status="timeout", reason="")
    odd.span("of no length", 3, 3, status="ok", reason="fine", step=-1)
    odd.span("cancelled", 3, 4, status="cancelled", reason="by hand")
    attrs = {
        "rl.step": "not a step", "rl.attr.x": 1, "rl.added": ["tokens"], "gen_ai.conversation.id": "mine", "tokens": 5,
        "nothing": None, "deep": {"list": [1, 1.5, None, {"a": []}], "empty": {}}, "ünï": "✓", "big": 2**62, "f": 2.0,
    }  # fmt: skip
    odd.span("attributes", 4, 5, attrs=attrs, session="s", part="session", task="t")
    odd.span("state", 5, 6, part="state", lane="l-1", trace="4bf92f3577b34da6a3ce929d0e0e4736")
    odd.span(
        "generate", 6, 7, part="phase", session="s", attrs={"model": "7b", "reward": 0.1, "weights": 3, "tool": "x"}
    )
    for level in ("debug", "info", "warning", "error", "critical", "notice", "TRACE"):
        odd.log(f"at {level}", 7, level, logger="a.b", trace="4bf92f3577b34da6a3ce929d0e0e4736", parent="x", step=3)
    odd.fact("queue.sample.put", 8, {"queue": "q", "rl.x": "y", "": "none"}, op="o", peer="e", outcome="timeout")
    odd.fact("weights.sync.answered", 9, None, reason="r", attrs={"n": 1}, session="s", task="t", parent="b" * 16)
    odd._add("fact", 9, "again", **{"try": 3})
    odd._add("lost", 9, "lines", count=12, reason="buffer full")
    for number in range(4):
        labels = {"gpu": str(number % 2)}
        odd._add("count", 10 + number, "tokens", value=0.5 * number - 0.5, labels=labels, step=number)
        odd._add(
            "sample", 10 + number, "seconds", value=10.0**number, labels=labels, task="t", session="s", step=number
        )
        odd._add("gauge", 10 + number, "level", value=-1.5 * number, step=number)
    odd.finished(20)
    return odd.body()
