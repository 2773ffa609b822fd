"""Structured log records. Those of Python's own logging come by `handler`."""

from typing import Any

from rl_insight.record.recorder import current, monotonic, recorder
from rl_insight.record.values import settle, text
from rl_insight.schema import Log

_NAMES = frozenset({"debug", "info", "warning", "error", "critical"})
_LEVELS = {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}


def log(level: str | int, message: str, **attrs: Any) -> None:
    """Record a structured log message."""
    if not recorder.active:
        return
    stamp = monotonic()
    try:
        message = message if message.__class__ is str else text(message)
        recorder.add((Log, stamp, message, level_name(level), None, settle(attrs), recorder.step, current.get()))
    except Exception as error:
        recorder.failed(error)


def level_name(level: str | int) -> str:
    """`warning` for 30, "WARNING" or "warn"."""
    if level.__class__ is str and level in _NAMES:
        return level
    if isinstance(level, int):
        return _LEVELS.get(level) or _LEVELS.get(level // 10 * 10) or text(level)
    name = text(level).lower()
    return {"warn": "warning", "fatal": "critical"}.get(name, name) or "info"
