"""The line format: what a recorded line may say, in which version, and how it is encoded and checked."""

from rl_insight.schema.lines import (
    KINDS,
    SCHEMA_MAJOR,
    SCHEMA_VERSION,
    Attrs,
    Count,
    Fact,
    Gauge,
    Labels,
    Line,
    Log,
    Lost,
    Open,
    Process,
    Sample,
    Span,
    Status,
)
from rl_insight.schema.codec import BadLine, decode_lines, encode_lines

__all__ = [
    "KINDS",
    "SCHEMA_MAJOR",
    "SCHEMA_VERSION",
    "Attrs",
    "BadLine",
    "Count",
    "Fact",
    "Gauge",
    "Labels",
    "Line",
    "Log",
    "Lost",
    "Open",
    "Process",
    "Sample",
    "Span",
    "Status",
    "decode_lines",
    "encode_lines",
]
