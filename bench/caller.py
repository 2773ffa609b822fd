"""What a recording call costs the one who makes it."""

from __future__ import annotations

from bench import floors
from bench.child import answer
from bench.row import Floor, Plan, Row

FLOOR_OF = {
    "gauge": floors.APPEND,
    "gauge with a label": floors.APPEND,
    "count": floors.APPEND,
    "sample": floors.APPEND,
    "fact": floors.APPEND,
    "log": floors.APPEND,
    "span": floors.WITH,
    "nested span": floors.WITH,
    "span with attributes": floors.WITH,
    "state": floors.WITH,
    "phase": floors.WITH,
    "session": floors.WITH,
    "op": floors.CALL,
    "disabled gauge": floors.CALL,
    "disabled span": floors.WITH,
}


def caller(plan: Plan) -> list[Row]:
    """Nanoseconds of the caller's time, for each recording call and for the floors."""
    amounts = [str(plan.pick(*pair)) for pair in ((9, 2), (25, 2), (2000, 200))]
    found = answer("bench.work.calls", "on", *amounts)
    off = answer("bench.work.calls", "off", *amounts)
    found |= {name: timing for name, timing in off.items() if name not in floors.LOOPS}
    return [
        Row(
            "caller",
            name,
            "ns",
            value,
            low,
            high,
            Floor(FLOOR_OF[name], (off if name.startswith("disabled") else found)[FLOOR_OF[name]][0])
            if name in FLOOR_OF
            else None,
            note="floor" if name in floors.LOOPS else "",
        )
        for name, (value, low, high) in found.items()
    ]
