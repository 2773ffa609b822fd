"""What it costs to import the package and to begin recording, in fresh interpreters."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from bench.child import ROOT, answer, environment
from bench.row import Floor, Plan, Row

BARE, FLOOR, OURS = "pass", "import msgspec", "import rl_insight"


def imports(plan: Plan) -> list[Row]:
    """Milliseconds of wall time more than a bare interpreter takes, in alternating order."""
    taken: dict[str, list[float]] = {BARE: [], FLOOR: [], OURS: []}
    first: list[float] = []
    loaded = ""
    for number in range(plan.pick(21, 2)):
        for statement in taken if number % 2 == 0 else reversed(taken):
            taken[statement].append(_wall(statement))
        if number < plan.pick(9, 1):
            found = answer("bench.work.first_record")
            first.append(found["milliseconds"])
            loaded = ", ".join(found["heavy"]) or "nothing heavy"
    bare = statistics.median(taken[BARE])
    ours, floor = ([value - bare for value in taken[statement]] for statement in (OURS, FLOOR))
    return [
        Row(
            "imports",
            "import",
            "ms",
            statistics.median(ours),
            min(ours),
            max(ours),
            Floor("import msgspec", max(statistics.median(floor), 0.01)),
            f"a bare interpreter takes {bare:.1f} ms",
        ),
        Row(
            "imports",
            "import, init and first record",
            "ms",
            statistics.median(first),
            min(first),
            max(first),
            note=f"over http; loads {loaded}",
        ),
    ]


def _wall(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], cwd=ROOT, env=environment(), check=True)
    return (time.perf_counter() - start) * 1e3
