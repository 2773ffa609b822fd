"""The same work inside a Ray job: what a call costs there, and how fast lines come through the collector actor."""

from __future__ import annotations

import statistics

from bench.child import answer
from bench.row import Plan, Row

# Rows that RL-Insight 0.3 has a counterpart of; it cannot be used outside of Ray, so these are its own figures.
INSIDE = "inside Ray"


def inside_ray(plan: Plan) -> list[Row]:
    """Two workers and the collector actor on a Ray of this machine; calls are timed in the driver."""
    amounts = [str(plan.pick(*pair)) for pair in ((5, 2), (25, 2), (2000, 200))]
    events = plan.pick(1_000_000, 4_000)
    found = [answer("bench.work.ray_job", str(events), *amounts) for _ in range(plan.pick(3, 1))]
    loads = [one["load"] for one in found]
    rows = [
        Row(
            "ray",
            f"{name}, {INSIDE}",
            "ns",
            *(statistics.median(one["calls"][name][index] for one in found) for index in range(3)),
        )
        for name in found[0]["calls"]
    ]
    for name, key, unit in (
        ("events stored and queryable", "events per second", "events/s"),
        ("collector CPU", "collector CPU", "µs"),
        ("producer CPU, two at once", "producer CPU", "µs"),
    ):
        taken = [load[key] for load in loads]
        rows.append(Row("ray", f"{name}, {INSIDE}", unit, statistics.median(taken), min(taken), max(taken)))
    rows[-3].note = f"{events:,} events of two workers through the collector actor; durable, and found by a query"
    rows[-2].note = "until the last row is found; without the orderly stop"
    return rows
