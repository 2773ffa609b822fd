"""The floors of shipping and storing, in µs of CPU a line: `python -m bench.work.codec LINES`.

Of a producer: encoding lines that are already made. Of a collector: decoding them once and letting DuckDB read them
into a table in memory, with one thread. No recorder, HTTP, log, transaction or checkpoint.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import rl_insight as insight
from bench.work.workload import KINDS
from rl_insight.schema import decode_lines, encode_lines
from rl_insight.ship.lifecycle import shipment

REPEATS = 5


def recorded(kind: str, events: int) -> bytes:
    """The bytes of some lines, as a sender would send them."""
    insight.init(project="bench", config={"ship": {"sink": "memory"}})
    for first in range(0, events, 10_000):
        KINDS[kind](min(10_000, events - first), first)
        insight.flush(30)
    insight.close()
    running = shipment()
    assert running is not None
    return b"".join(running.sink.bodies)  # type: ignore[attr-defined]


def cpu(work: Callable[[], object], lines: int) -> float:
    """The least CPU time of several tries, in µs a line."""
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken) / lines * 1e6


def main() -> None:
    events = int(sys.argv[1])
    found: dict[str, float] = {}
    for kind in KINDS:
        body = recorded(kind, events)
        lines = decode_lines(body)
        found[f"encode {kind}"] = cpu(lambda lines=lines: encode_lines(lines), len(lines))
    body = recorded("mix", events)
    number = body.count(b"\n")
    found["decode mix"] = cpu(lambda: decode_lines(body), number)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lines.jsonl"
        file.write_bytes(body)
        database = duckdb.connect(config={"threads": 1, "preserve_insertion_order": False})
        sql = (Path(__file__).parent / "read_lines.sql").read_text()
        found["read mix"] = cpu(lambda: database.execute(sql, {"file": str(file)}), number)
    found["bytes mix"] = len(body) / number
    print(json.dumps(found))


if __name__ == "__main__":
    main()
