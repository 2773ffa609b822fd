"""What was everyone doing at that moment? Intervals made as few as there are pixels to show them."""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight.read.about import About, about
from rl_insight.read.compose import records, structs
from rl_insight.read.rows import Rows

# An answer holds no more than this, however many lanes and pixels are asked for: some 1.8 MB.
MOST_ITEMS = 48_000
MOST_LANES = 400
MOST_OPEN = 5_000
SUMMARY_BUCKETS = 400
# Beyond so many intervals the quantiles of the most frequent names come from about so many of them.
SAMPLE = 100_000


class Lane(msgspec.Struct):
    """Where intervals lie one after the other; lane '' is the process itself."""

    proc: str
    lane: str
    worker: str
    role: str | None
    rank: int | None
    node: str | None
    state: str
    lost: bool
    clock_offset_ms: float
    spans: int
    states: int
    running: int
    first: float | None
    last: float | None


class Lanes(msgspec.Struct):
    """All lanes of a run, in the order of the page."""

    run: str
    at: float
    lanes: list[Lane]


class Track(msgspec.Struct):
    """What one lane did, of one part (`state`, `phase`, …, '' for other spans), in no order.

    `what` is `spans`: `items` are intervals [start, length, name, seq, bad], times in µs (start from `from`). Or it is
    `blocks`: short ones merged, `items` are [number of the block, how many, name, percentage covered, bad].
    """

    lane: int
    part: str
    what: str
    items: msgspec.Raw


class Running(msgspec.Struct):
    """An interval that has not ended; its start is in epoch ms."""

    nr: int
    part: str
    name: int
    start: float
    seq: int


class Timeline(msgspec.Struct):
    """Lanes over a window. `block_ms` is the width of a block; `cut` says that only the longest are told."""

    run: str
    at: float
    start: float = msgspec.field(name="from")
    end: float = msgspec.field(name="to")
    block_ms: float
    names: list[str]
    tracks: list[Track]
    open: list[Running]
    cut: bool


class Summary(msgspec.Struct):
    """How many lanes were in each state, on average in each bucket of the window."""

    run: str
    at: float
    start: float = msgspec.field(name="from")
    end: float = msgspec.field(name="to")
    buckets: int
    states: list[StateCourse]


class StateCourse(msgspec.Struct):
    """One state over the buckets of a window."""

    name: str
    lanes: list[float]


class Statistics(msgspec.Struct):
    """What took the time of a range: states and other intervals by name, and how much each lane waited.

    `sampled` is the share of the intervals that the quantiles of frequent names come from.
    """

    run: str
    start: float = msgspec.field(name="from")
    end: float = msgspec.field(name="to")
    sampled: float
    names: list[NameStatistics]
    lanes: list[LaneStatistics]


class NameStatistics(msgspec.Struct):
    """Intervals of one name in a range. `s` counts only what lies in the range, the quantiles whole intervals."""

    name: str
    state: bool
    n: int
    s: float
    mean_s: float
    p50_s: float
    p95_s: float
    max_s: float
    longest_proc: str
    longest_seq: int


class LaneStatistics(msgspec.Struct):
    """What a lane did in a range."""

    proc: str
    lane: str
    s: float
    waiting_s: float
    most: str


class SpanDetail(msgspec.Struct):
    """One interval, with everything recorded about it."""

    proc: str
    seq: int
    name: str
    part: str
    lane: str | None
    start: float
    dur_ms: float | None
    open: bool
    id: str | None
    parent: str | None
    trace: str | None
    task: str | None
    session: str | None
    step: int | None
    status: str | None
    reason: str | None
    attrs: msgspec.Raw


class Beside(msgspec.Struct):
    """An interval beside another: its seq, and when it was (epoch ms)."""

    seq: int
    start: float = msgspec.field(name="from")
    end: float = msgspec.field(name="to")


def lanes(source: Rows, run: str) -> Lanes:
    """All lanes of a run."""
    looked = about(source, run)
    return Lanes(looked.run, looked.at_ms, structs(source, "timeline_lanes", Lane, looked.params))


def timeline(
    source: Rows,
    run: str,
    wanted: list[tuple[str, str]],
    since: float | None,
    until: float | None,
    px: int,
    states_only: bool = False,
) -> Timeline:
    """What some lanes did in a window, as many items as `px` pixels can show."""
    looked = about(source, run)
    begin, end = window(looked, since, until)
    (names,) = records(source, "timeline_names", looked.params)
    # Lanes have a track of states and often one of spans; blocks grow before the answer does.
    blocks = max(20, min(px, MOST_ITEMS // max(1, (1 if states_only else 2) * len(wanted))))
    width = max(1, (end - begin) // blocks)
    asked: dict[str, Any] = {
        **looked.params,
        "from": begin,
        "to": end,
        "width": width,
        "per_ns": 1 / width,
        "procs": [proc for proc, _ in wanted],
        "lanes": [lane for _, lane in wanted],
        "names": names["names"],
        "states_only": states_only,
    }
    tracks = []
    told = 0
    for row in records(source, "timeline", {**asked, "most": MOST_ITEMS}):
        told += row["rows"] if row["what"] == "spans" else 0
        tracks.append(Track(row["nr"], row["part"], row["what"], msgspec.Raw(row["items"].encode())))
    running = structs(source, "timeline_open", Running, {**asked, "most": MOST_OPEN})
    return Timeline(
        run=looked.run,
        at=looked.at_ms,
        start=begin / 1e6,
        end=end / 1e6,
        block_ms=width / 1e6,
        names=names["names"],
        tracks=tracks,
        open=running,
        cut=told >= MOST_ITEMS or len(running) >= MOST_OPEN,
    )


def summary(source: Rows, run: str, since: float | None, until: float | None, buckets: int) -> Summary:
    """How many lanes were in each state over a window: looks the same for 8 lanes and for 800."""
    looked = about(source, run)
    begin, end = window(looked, since, until)
    buckets = max(1, min(buckets, SUMMARY_BUCKETS))
    width = max(1.0, (end - begin) / buckets)
    edges: dict[str, list[tuple[int, float, int]]] = {}
    asked = {**looked.params, "from": begin, "to": end, "per_ns": 1 / width}
    for row in records(source, "timeline_summary", asked):
        edges.setdefault(row["name"], []).append((row["bucket"], row["moment"], row["n"]))
    states = [StateCourse(name, _course(found, width, buckets)) for name, found in edges.items()]
    return Summary(looked.run, looked.at_ms, begin / 1e6, end / 1e6, buckets, states)


def _course(edges: list[tuple[int, float, int]], width: float, buckets: int) -> list[float]:
    """The mean number of intervals under way in each bucket, from what began and ended in it."""
    changes, rests = [0] * (buckets + 1), [0.0] * (buckets + 1)
    for bucket, at, n in edges:
        place = min(bucket, buckets)
        changes[place] += n
        # What begins at `t` lasts from there to the bucket's end, and what ends takes the same away.
        rests[place] += n * (bucket + 1) * width - at
    course, under_way = [], 0
    for bucket in range(buckets):
        course.append(round(max(0.0, under_way + rests[bucket] / width), 3))
        under_way += changes[bucket]
    return course


def statistics(
    source: Rows, run: str, since: float | None, until: float | None, of: str = "", sample: int = SAMPLE
) -> Statistics:
    """What took the time of a range: `of` "names" or "lanes" only, or of both."""
    looked = about(source, run)
    begin, end = window(looked, since, until)
    asked = {**looked.params, "from": begin, "to": end}
    rows = records(source, "timeline_statistics", asked) if of != "lanes" else []
    # Finding quantiles is most of the work, and a part of very many tells them as well.
    step = max(1, sum(row["n"] for row in rows) // sample)
    quantiles = _quantiles(source, asked, rows, step) if rows else {}
    return Statistics(
        looked.run,
        begin / 1e6,
        end / 1e6,
        1 / step,
        [msgspec.convert({**row, **quantiles[row["name"], row["state"]]}, NameStatistics) for row in rows],
        structs(source, "timeline_lane_statistics", LaneStatistics, asked) if of != "names" else [],
    )


def _quantiles(
    source: Rows, asked: dict[str, Any], rows: list[dict[str, Any]], step: int
) -> dict[tuple[str, bool], dict[str, float]]:
    """Median and 95th percentile by name: of every `step`-th interval, but of all where there are few."""
    rare = [row["name"] for row in rows if row["n"] < 20_000]
    parts = ["AND hash(seq) % $step::UBIGINT = 0", "AND list_contains($names::VARCHAR[], name)"] if step > 1 else [""]
    found: dict[tuple[str, bool], dict[str, float]] = {}
    for which in parts if rare else parts[:1]:
        for row in records(source, "timeline_quantiles", {**asked, "step": step, "names": rare}, {"which": which}):
            found[row.pop("name"), row.pop("state")] = row
    return found


def span(source: Rows, run: str, proc: str, seq: int) -> SpanDetail | None:
    """One interval by the process that recorded it and the seq of its line."""
    looked = about(source, run)
    found = records(source, "span_detail", {**looked.params, "proc": proc, "seq": seq})
    if not found:
        return None
    row = found[0]
    return SpanDetail(**{**row, "attrs": msgspec.Raw((row["attrs"] or "null").encode())})


def beside(source: Rows, run: str, proc: str, seq: int, forward: bool) -> Beside | None:
    """The next interval, or the previous one, of the same part on the lane of one."""
    looked = about(source, run)
    found = structs(source, "span_beside", Beside, {**looked.params, "proc": proc, "seq": seq, "forward": forward})
    return found[0] if found else None


def window(looked: About, since: float | None, until: float | None) -> tuple[int, int]:
    """The window in ns: what was asked for, else the whole run up to now."""
    begin = looked.first_ts if since is None else int(since * 1e6)
    end = looked.at if until is None else int(until * 1e6)
    return begin, max(end, begin + 1)
