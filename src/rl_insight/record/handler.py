"""Python's own logging, recorded. Apart from `logs`, so that who does not use it does not import it."""

import logging

from rl_insight.record.logs import level_name
from rl_insight.record.recorder import current, monotonic, recorder
from rl_insight.record.values import describe, plain_dict, text
from rl_insight.schema import Log

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


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
