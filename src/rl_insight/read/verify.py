"""Is everything that was recorded here, once?"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from rl_insight.read.rows import Rows, answers, question

SHOWN = 1000


class Finding(msgspec.Struct):
    """Something that is not as it should be."""

    what: Literal["hole", "duplicate", "lost", "unreadable", "no process line"]
    run: str | None
    proc: str | None
    lines: int
    detail: str


class LookedAt(msgspec.Struct):
    """How much was verified."""

    processes: int
    runs: int
    lines: int


class Verdict(msgspec.Struct):
    """The findings, and whether there are none. `more` is how many findings are not listed."""

    clean: bool
    processes: int
    runs: int
    lines: int
    summary: str
    findings: list[Finding]
    more: int = 0


def verify(source: Rows, run: str | None = None) -> Verdict:
    """Look for holes, duplicates, losses and unreadable lines, in one run or in all."""
    (looked,) = answers(source, "looked_at", LookedAt, {"run": run})
    table = source.rows(question("findings"), {"run": run})
    found = [msgspec.convert(dict(zip(table.columns, row, strict=True)), Finding) for row in table.rows]
    lines: Counter[str] = Counter()
    for finding in found:
        lines[finding.what] += finding.lines
    words = {
        "hole": "{:,} lines never came",
        "duplicate": "{:,} lines are stored twice",
        "lost": "{:,} were dropped by their recorder",
        "unreadable": "{:,} lines cannot be read",
        "no process line": "{:,} lines belong to no known run",
    }
    summary = ", ".join(text.format(lines[what]) for what, text in words.items() if lines[what])
    return Verdict(
        clean=not found,
        processes=looked.processes,
        runs=looked.runs,
        lines=looked.lines,
        summary=summary or "nothing found",
        findings=found[:SHOWN],
        more=max(0, len(found) - SHOWN),
    )
