"""What it costs to import the package and to begin recording, in fresh interpreters.

CPU time, which other work on the machine disturbs less than wall time; the goal is for wall time, which is in the note.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from bench.child import ROOT, answer, environment
from bench.row import Floor, Plan, Row

BARE, FLOOR, OURS = "pass", "import msgspec", "import rl_insight"


def imports(plan: Plan) -> list[Row]:
    """Milliseconds more than a bare interpreter takes: the best of many each, in alternating order."""
    with tempfile.TemporaryDirectory(prefix="rl-insight-bench-") as folder:
        return _imports(plan, {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""})


def _imports(plan: Plan, cache: dict[str, str]) -> list[Row]:
    # What is installed is compiled; a checkout may not be. The first round compiles and is not counted.
    for statement in (BARE, FLOOR, OURS):
        _run(statement, cache)
    answer("bench.work.first_record", **cache)
    taken: dict[str, list[float]] = {BARE: [], FLOOR: [], OURS: []}
    walls: dict[str, list[float]] = {BARE: [], FLOOR: [], OURS: []}
    first: list[float] = []
    loaded = ""
    for number in range(plan.pick(21, 2)):
        for statement in taken if number % 2 == 0 else reversed(taken):
            cpu, wall = _run(statement, cache)
            taken[statement].append(cpu)
            walls[statement].append(wall)
        if number < plan.pick(9, 1):
            found = answer("bench.work.first_record", **cache)
            first.append(found["cpu"])
            loaded = ", ".join(found["heavy"]) or "nothing heavy"
    bare, floor, ours = (min(taken[statement]) for statement in (BARE, FLOOR, OURS))
    usual = statistics.median(taken[OURS]) - statistics.median(taken[BARE])
    return [
        Row(
            "imports",
            "import",
            "ms",
            ours - bare,
            ours - bare,
            usual,
            Floor("import msgspec", max(floor - bare, 0.01)),
            f"a bare interpreter takes {bare:.1f} ms; best wall time {min(walls[OURS]) - min(walls[BARE]):.1f} ms",
        ),
        Row(
            "imports",
            "import, init and first record",
            "ms",
            min(first),
            min(first),
            statistics.median(first),
            note=f"over http; loads {loaded}",
        ),
    ]


def _run(statement: str, cache: dict[str, str]) -> tuple[float, float]:
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", statement], cwd=ROOT, env=environment(**cache))
    _, code, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(code)
    if child.returncode:
        raise RuntimeError(f"{statement!r} ended with {child.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1e3, (time.perf_counter() - start) * 1e3
