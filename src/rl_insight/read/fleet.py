"""Are the machines all right? Nodes with their resources, and the processes on them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rl_insight.read.about import about
from rl_insight.read.compose import records
from rl_insight.read.rows import Rows
from rl_insight.read.timeline import window

BUCKETS = 120


class Reading(msgspec.Struct):
    """A resource: its latest value, and its course over the window (null where nothing was sampled)."""

    now: float
    course: list[float | None]


class Device(msgspec.Struct):
    """A GPU of a node."""

    gpu: str
    readings: dict[str, Reading]


class Node(msgspec.Struct):
    """A machine. `readings` are by the name of the metric without `node_`; rates are made of totals."""

    node: str
    processes: int
    live: int
    lost: int
    sampled: float | None
    readings: dict[str, Reading]
    gpus: list[Device]


class Process(msgspec.Struct):
    """A recording process. `dropped` lines its recorder gave up, `missing` never came."""

    proc: str
    worker: str
    role: str | None
    rank: int | None
    node: str | None
    host: str | None
    pid: int | None
    state: Literal["live", "finished", "lost"]
    started: float | None
    last: float | None
    heartbeat_s: float | None
    clock_offset_ms: float | None
    lines: int
    dropped: int
    missing: int
    running: int
    versions: msgspec.Raw
    config_hash: str | None
    labels: msgspec.Raw
    attrs: msgspec.Raw


class Fleet(msgspec.Struct):
    """Nodes and processes of a run; courses go over [from, to) in equal steps."""

    run: str
    at: float
    start: float = msgspec.field(name="from")
    end: float = msgspec.field(name="to")
    nodes: list[Node]
    processes: list[Process]


def fleet(source: Rows, run: str, since: float | None = None, until: float | None = None) -> Fleet:
    """The machines of a run and the processes on them."""
    looked = about(source, run)
    begin, end = window(looked, since, until)
    processes = [_process(row) for row in records(source, "fleet_processes", looked.params)]
    nodes: dict[str, Node] = {}
    for process in processes:
        node = _node(nodes, process.node or "")
        node.processes += 1
        node.live += process.state == "live"
        node.lost += process.state == "lost"
    asked = {**looked.params, "from": begin, "to": end, "buckets": BUCKETS, "per_ns": BUCKETS / (end - begin)}
    latest: dict[tuple[str, str | None, str], int] = {}
    for row in records(source, "fleet_resources", asked):
        node = _node(nodes, row["node"])
        node.sampled = max(node.sampled or 0.0, row["ts"] / 1e6)
        readings = node.readings if row["gpu"] is None else _device(node, row["gpu"]).readings
        name = row["name"].removeprefix("node_").removeprefix("gpu_")
        reading = readings.setdefault(name, Reading(0.0, [None] * BUCKETS))
        reading.course[row["x"]] = row["value"]
        key = (row["node"], row["gpu"], name)
        if row["ts"] >= latest.get(key, 0):
            latest[key], reading.now = row["ts"], row["now"]
    for node in nodes.values():
        for name in [name for name in node.readings if name.endswith("_total") and "bytes" in name]:
            node.readings[name.removesuffix("_total") + "_per_s"] = _rate(
                node.readings.pop(name), (end - begin) / 1e9 / BUCKETS
            )
    return Fleet(
        looked.run, looked.at_ms, begin / 1e6, end / 1e6, sorted(nodes.values(), key=lambda one: one.node), processes
    )


def _process(row: dict[str, Any]) -> Process:
    raw = {key: msgspec.Raw((row[key] or "null").encode()) for key in ("versions", "labels", "attrs")}
    return Process(**{**row, **raw})


def _node(nodes: dict[str, Node], name: str) -> Node:
    return nodes.setdefault(name, Node(name, 0, 0, 0, None, {}, []))


def _device(node: Node, gpu: str) -> Device:
    for device in node.gpus:
        if device.gpu == gpu:
            return device
    node.gpus.append(Device(gpu, {}))
    return node.gpus[-1]


def _rate(total: Reading, seconds: float) -> Reading:
    """How fast a total grew, between the moments it was looked at. A total that shrank was started anew."""
    course: list[float | None] = [None] * len(total.course)
    before: tuple[int, float] | None = None
    now = 0.0
    for place, value in enumerate(total.course):
        if value is None:
            continue
        if before is not None and value >= before[1]:
            now = (value - before[1]) / ((place - before[0]) * seconds)
            course[place] = now
        before = (place, value)
    return Reading(now, course)
