"""Which deliveries crossed between lanes? What was sent, put or requested, and whether it arrived."""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight.read.about import about
from rl_insight.read.compose import records
from rl_insight.read.rows import Rows
from rl_insight.read.timeline import window

MOST = 400
# Facts of a window that are looked at, the newest; and before it, for what was sent then and arrived in it.
CAP = 10_000
BEFORE = 5_000
# Two ends closer than this are one on the screen.
PIXELS = 4
# A span that a fact was recorded in is looked for among those that began no longer ago.
LOOK_BACK_NS = 600_000_000_000


class Kind(msgspec.Struct):
    """Deliveries of one group and subject; `opened` is the verb that opens them. Times are those of what arrived."""

    stem: str
    opened: str
    n: int
    found: int
    missing: int
    unknown: int
    pending: int
    evicted: int
    rejected: int
    backwards: int
    unrecorded: int
    p50_s: float | None
    p95_s: float | None
    max_s: float | None


class Delivery(msgspec.Struct):
    """From one process to another. `n` alike are told as one, the slowest; times are those of this one, in epoch ms.

    `verdict` is `found`, `rejected`, `evicted`, or of what has not arrived: `missing` when who should have recorded it
    was heard from past the deadline and has lost nothing, `unknown` when it cannot be known, `pending` else.
    """

    stem: str
    opened: str
    closed: str | None
    sender: str
    sender_lane: str | None
    receiver: str | None
    receiver_lane: str | None
    sent: float
    arrived: float | None
    done: float | None
    verdict: str
    tag: str
    value: str
    peer: str | None
    reason: str | None
    n: int


class Flows(msgspec.Struct):
    """The deliveries of a window. `total` are there in all; `cut` says that the least important ones are not told,
    `capped` that only those from `since` on were looked at.

    `unrecorded` are the names of facts that open a delivery whose arrival no process of the run records.
    """

    run: str
    at: float
    start: float = msgspec.field(name="from")
    end: float = msgspec.field(name="to")
    since: float
    capped: bool
    total: int
    cut: bool
    kinds: list[Kind]
    flows: list[Delivery]
    unrecorded: list[str]


def flows(
    source: Rows,
    run: str,
    since: float | None = None,
    until: float | None = None,
    *,
    px: int = 1000,
    procs: list[str] | None = None,
    most: int = MOST,
    cap: int = CAP,
    now: int | None = None,
) -> Flows:
    """The deliveries that were under way in a window, or only those from or to some processes."""
    looked = about(source, run, now)
    begin, end = window(looked, since, until)
    asked: dict[str, Any] = {**looked.params, "from": begin, "to": end}
    (size,) = records(source, "flow_size", asked)
    inside = min(size["inside"], cap)
    first = _reach(source, asked, cap) if size["inside"] > cap else begin
    asked |= {
        "from": first,
        "since": _reach(source, asked, inside + BEFORE) if size["before"] > inside + BEFORE else 0,
        "width": max(1, (end - begin) * PIXELS // max(px, 1)),
        "procs": procs or [],
        "most": max(1, min(most, MOST)),
    }
    (found,) = records(source, "flows", asked)
    told = found["told"]
    _put_on_lanes(source, looked.params, told)
    kinds = msgspec.convert(found["kinds"], list[Kind])
    total = sum(kind.n for kind in kinds)
    return Flows(
        looked.run,
        looked.at_ms,
        begin / 1e6,
        end / 1e6,
        first / 1e6,
        first > begin,
        total,
        sum(row["n"] for row in told) < total,
        [kind for kind in kinds if kind.n],
        msgspec.convert(told, list[Delivery]),
        [f"{kind.stem}.{kind.opened}" for kind in kinds if kind.unrecorded],
    )


def _reach(source: Rows, asked: dict[str, Any], cap: int) -> int:
    (found,) = records(source, "flow_reach", {**asked, "cap": cap})
    return int(found["since"])


def _put_on_lanes(source: Rows, params: dict[str, Any], told: list[dict[str, Any]]) -> None:
    """Say on which lanes deliveries began and ended, where that is known; and moments in ms."""
    ends: list[tuple[dict[str, Any], str, str, int]] = []
    for row in told:
        for end, moment in (("sender", row["sent"]), ("receiver", row["arrived"])):
            trace = row.pop(f"{end}_trace")
            row[f"{end}_lane"] = None
            if trace is not None and moment is not None:
                ends.append((row, end, trace, moment))
        for name in ("sent", "arrived", "done"):
            row[name] = None if row[name] is None else row[name] / 1e6
    if not ends:
        return
    moments = [moment for *_, moment in ends]
    asked = {
        **params,
        "procs": [row[end] for row, end, _, _ in ends],
        "traces": [trace for _, _, trace, _ in ends],
        "moments": moments,
        "since": min(moments) - LOOK_BACK_NS,
        "until": max(moments),
    }
    for found in records(source, "flow_lanes", asked):
        row, end, _, _ = ends[found["nr"]]
        row[f"{end}_lane"] = found["lane"]
