"""What the sessions in some lines add up to, worked out the slow way."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from stored import covered

CLASSES = {
    "queue": "queue",
    "generate": "generate",
    "decode": "generate",
    "tool": "tool",
    "tool_call": "tool",
    "reward": "reward",
    "judge": "reward",
}
NANO = 1e-9


def stage_of(name: str) -> str:
    for mark in ":./ ":
        name = name.split(mark)[0] if name.split(mark)[0] else name
    return name


def class_of(name: str) -> str:
    return CLASSES.get(stage_of(name).lower(), name)


def sessions_in(lines: list[dict[str, Any]], at: int) -> dict[str, dict[str, Any]]:
    """Each session's times, turns, status and reason, from decoded lines; what is open lasts until `at`."""
    ended = {(line["proc"], line["id"]) for line in lines if line["kind"] == "span"}
    spans = [line for line in lines if line["kind"] == "span"]
    spans += [line for line in lines if line["kind"] == "open" and (line["proc"], line["id"]) not in ended]
    sessions: dict[str, dict[str, Any]] = defaultdict(lambda: {"own": [], "phases": [], "turns": 0})
    for span in spans:
        if span.get("session") is None:
            continue
        start, end = span["ts"], span["ts"] + span["dur"] if "dur" in span else at
        if span.get("part") == "session":
            sessions[span["session"]]["own"].append((start, end, span))
        elif span.get("part") == "phase":
            sessions[span["session"]]["phases"].append((span["name"], start, max(start, end), span.get("status")))
        elif span.get("part") == "turn":
            sessions[span["session"]]["turns"] += 1
    return {name: _added_up(name, one, lines) for name, one in sessions.items() if one["own"]}


def _added_up(name: str, one: dict[str, Any], lines: list[dict[str, Any]]) -> dict[str, Any]:
    start, end = min(own[0] for own in one["own"]), max(own[1] for own in one["own"])
    is_open = any("dur" not in own[2] for own in one["own"])
    given = [own[2].get("attrs", {}).get("submitted_ns") for own in one["own"]]
    submitted = min((value for value in given if value is not None), default=None)
    phases = [(kind, low, high) for kind, low, high, _ in one["phases"]]
    if submitted is not None and submitted < start:
        phases.append(("queue", submitted, start))
    by_class: dict[str, list[tuple[int, int]]] = defaultdict(list)
    by_name: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for kind, low, high in phases:
        stage = class_of(kind)
        by_class[stage if stage in ("queue", "generate", "tool", "reward") else "other"].append((low, high))
        by_name[kind].append((low, high))
    task = next((own[2].get("task") for own in one["own"]), None)
    status, reason = _word(name, task, lines)
    return {
        "task": task,
        "total_s": (end - start) * NANO,
        **{f"{stage}_s": covered(by_class[stage]) * NANO for stage in ("queue", "generate", "tool", "reward", "other")},
        "idle_s": (end - start - covered([(low, high) for _, low, high in phases], start, end)) * NANO,
        "phases": {
            kind: (len(found), covered(found) * NANO, sum(high - low for low, high in found) * NANO)
            for kind, found in by_name.items()
        },
        "turns": one["turns"] or None,
        "errors": sum(status in ("error", "timeout") for *_, status in one["phases"]),
        "open": is_open,
        "status": status or ("running" if is_open else "pending"),
        "reason": reason,
    }


def _word(session: str, task: str | None, lines: list[dict[str, Any]]) -> tuple[str | None, str | None]:
    facts = sorted(
        (line for line in lines if line["kind"] == "fact"), key=lambda line: (line["ts"], line["proc"], line["seq"])
    )
    own = [
        line for line in facts if line["name"] == "session.sample.finished" and line["tags"].get("session") == session
    ]
    whole = [line for line in facts if line["name"] == "task.item.finished" and line["tags"].get("task") == task]
    for found in (own, whole):
        if found:
            return found[-1]["attrs"]["status"], found[-1].get("reason")
    return None, None
