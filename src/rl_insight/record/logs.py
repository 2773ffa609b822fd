"""Structured log records, from a call or from Python's own logging."""

import logging
from typing import Any

from rl_insight.record.recorder import current, monotonic, recorder
from rl_insight.record.values import describe, plain_dict, settle, text
from rl_insight.schema import Log

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
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


class LogHandler(logging.Handler):
    """Records what goes through Python's logging; `extra=` fields become attributes.

    `logging.getLogger().addHandler(rl_insight.LogHandler())`
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Record one log record; never raises."""
        if not recorder.active or record.name.partition(".")[0] == "rl_insight":
            return
        try:
            self._record(record)
        except Exception as error:
            recorder.failed(error)

    def _record(self, record: logging.LogRecord) -> None:
        stamp = monotonic()
        try:
            message = record.getMessage()
        except Exception as error:
            message = f"{text(record.msg)} (arguments do not fit: {describe(error)})"
        attrs = plain_dict({key: value for key, value in vars(record).items() if key not in _STANDARD})
        attrs["source"] = f"{record.filename}:{record.lineno}"
        if record.exc_info and record.exc_info[1] is not None:
            attrs["error"] = describe(record.exc_info[1])
        level = level_name(record.levelno)
        recorder.add((Log, stamp, message, level, text(record.name), attrs, recorder.step, current.get()))
