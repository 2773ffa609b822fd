"""Numbers and times as people read them."""

from __future__ import annotations

import datetime


def size(number: float) -> str:
    """Bytes, with the unit that leaves one to three digits before the point."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(number) < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def moment(nanos: int | None) -> str:
    """A time stamp as local date and time, or a dash."""
    if not nanos:
        return "–"
    return datetime.datetime.fromtimestamp(nanos / 1e9).strftime("%Y-%m-%d %H:%M:%S")


def span(nanos: int | None) -> str:
    """A duration in its two largest units."""
    if nanos is None:
        return "–"
    seconds = nanos / 1e9
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"
