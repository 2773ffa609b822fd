"""`make bench` runs, and its table has every row. What the figures are is for people to look at."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ROWS = {
    "append a stamped tuple",
    "empty with-block",
    "bare call",
    "gauge",
    "gauge with a label",
    "count",
    "sample",
    "span",
    "nested span",
    "span with attributes",
    "state",
    "op",
    "fact",
    "log",
    "phase",
    "disabled gauge",
    "disabled span",
    "producer CPU, gauges",
    "producer CPU, spans",
    "producer CPU, mix",
    "file sink CPU, gauges",
    "file sink CPU, spans",
    "file sink CPU, mix",
    "events stored and queryable",
    "collector CPU",
    "collector memory at the start",
    "collector memory half way",
    "collector memory at the end",
    "gauge, inside Ray",
    "span, inside Ray",
    "state, inside Ray",
    "events stored and queryable, inside Ray",
    "collector CPU, inside Ray",
    "producer CPU, two at once, inside Ray",
    "import",
    "import, init and first record",
    *(
        f"GET {view}, {size} spans"
        for size in ("1 M", "10 M")
        for view in (
            "runs",
            "overview",
            "timeline, a window",
            "timeline statistics, names",
            "timeline statistics, lanes",
            "flows",
            "sessions",
            "session",
            "flow",
            "metrics",
            "fleet",
            "facts",
        )
    ),
    "page weight, entry",
    "page weight, all views",
    "page load, overview",
    "page load, timeline",
    "frames while panning, 1 M spans",
    "frames while scrolling, 1 M spans",
}


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", "--quick", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def test_the_benchmarks_run_and_measure_every_row() -> None:
    done = bench("--json")
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows.keys() >= ROWS
    assert all(row["value"] > 0 or (row["skipped"] and row["note"]) for row in rows.values())
    assert rows["gauge"]["floor"]["value"] > 0
    assert rows["gauge"]["goal"] == 700


def test_one_bench_alone_prints_a_table() -> None:
    done = bench("--only", "imports")
    assert done.returncode == 0, done.stderr
    assert "import, init and first record" in done.stdout
    assert "disabled gauge" not in done.stdout
