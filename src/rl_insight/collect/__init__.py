"""The collector: accept lines, drop what it already has, and keep them in a log before it says so."""

from rl_insight.collect.collector import (
    Accepted,
    Busy,
    Collector,
    CollectorStatus,
    Stopping,
    Subscription,
)
from rl_insight.collect.files import Bad, LineFile, line_files, read_lines
from rl_insight.collect.log import START, Chunk, DiskFull, LineLog, Position

__all__ = [
    "START",
    "Accepted",
    "Bad",
    "Busy",
    "Chunk",
    "Collector",
    "CollectorStatus",
    "DiskFull",
    "LineFile",
    "LineLog",
    "Position",
    "Stopping",
    "Subscription",
    "line_files",
    "read_lines",
]
