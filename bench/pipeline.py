"""What it costs to bring events from the caller to where they can be queried, and how fast that goes."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence

from bench.child import answer
from bench.load import Load, to_collector, to_files
from bench.row import Floor, Plan, Row
from bench.work.workload import KINDS


def producer(plan: Plan) -> list[Row]:
    """CPU of a producing process an event: the call, composing, encoding and shipping to a real collector."""
    events, repeats = plan.pick(300_000, 2_000), plan.pick(3, 1)
    floors = _floors(plan)
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(repeats):
        for kind in KINDS:
            taken[kind].append(to_collector(kind, events, 1).producer_cpu / events * 1e6)
    return [
        _row("producer", f"producer CPU, {kind}", "µs", taken[kind], Floor("encode alone", floors[f"encode {kind}"]))
        for kind in KINDS
    ]


def files(plan: Plan) -> list[Row]:
    """The same when lines go to a file."""
    events, repeats = plan.pick(300_000, 2_000), plan.pick(3, 1)
    floors = _floors(plan)
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(repeats):
        for kind in KINDS:
            taken[kind].append(to_files(kind, events) / events * 1e6)
    return [
        _row("file", f"file sink CPU, {kind}", "µs", taken[kind], Floor("encode alone", floors[f"encode {kind}"]))
        for kind in KINDS
    ]


def stored(plan: Plan) -> list[Row]:
    """Two producers and a collector, from the first call until a query sees every row; then an orderly stop."""
    events, repeats = plan.pick(2_000_000, 4_000), plan.pick(3, 1)
    floors = _floors(plan)
    loads = [to_collector("mix", events, 2) for _ in range(repeats)]
    others = max(load.others for load in loads)
    # What two cores with nothing else to do would come to, for a reader whose machine is busy.
    allowed = statistics.median(
        (os.cpu_count() or 1) * load.events / (load.producer_cpu + load.collector_cpu) for load in loads
    )
    floor = Floor("decode and read_json alone", floors["decode mix"] + floors["read mix"])
    return [
        _row(
            "stored",
            "events stored and queryable",
            "events/s",
            [load.events / load.seconds for load in loads],
            note=f"{events:,} events of {floors['bytes mix']:.0f} bytes; others used up to {others:.2f} cores; "
            f"the CPU used would allow {allowed:,.0f} events/s",
        ),
        _row(
            "stored",
            "collector CPU",
            "µs",
            [load.collector_cpu / load.events * 1e6 for load in loads],
            floor,
            "with the orderly stop and its checkpoint",
        ),
        _row("stored", "producer CPU, two at once", "µs", [load.producer_cpu / load.events * 1e6 for load in loads]),
        *_memory("stored", loads),
    ]


def _memory(bench: str, loads: Sequence[Load]) -> list[Row]:
    moments = ("at the start", "half way", "at the end", "at most")
    return [
        _row(bench, f"{name} memory {moment}", "MiB", [load.memory[key][index] for load in loads])
        for name, key in (("collector", "collector"), ("producer", "producer 1"))
        for index, moment in enumerate(moments)
    ]


def soak(plan: Plan) -> list[Row]:
    """A long load, for the memory of those who take part in it; every sample is in the JSON of the results."""
    events = plan.lines or plan.pick(10_000_000, 10_000)
    load = to_collector("mix", events, 2, look_every=0.5)
    rows = [
        Row("soak", "soak, events stored and queryable", "events/s", load.events / load.seconds),
        Row("soak", "soak, collector CPU", "µs", load.collector_cpu / load.events * 1e6),
        Row("soak", "soak, producer CPU", "µs", load.producer_cpu / load.events * 1e6),
        *_memory("soak", [load]),
    ]
    rows[0].note = f"{events:,} events, {load.log_bytes / 2**20:,.0f} MiB of log, {load.seconds:.0f} s"
    for row in rows[3:]:
        row.name = f"soak, {row.name}"
    rows[0].series = load.series
    return rows


_known_floors: dict[bool, dict[str, float]] = {}


def _floors(plan: Plan) -> dict[str, float]:
    # Measured once a run: three benches hold themselves against them.
    if plan.quick not in _known_floors:
        _known_floors[plan.quick] = answer("bench.work.codec", str(plan.pick(100_000, 1_000)))
    return _known_floors[plan.quick]


def _row(bench: str, name: str, unit: str, taken: Sequence[float], floor: Floor | None = None, note: str = "") -> Row:
    return Row(bench, name, unit, statistics.median(taken), min(taken), max(taken), floor, note)
