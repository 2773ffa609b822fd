"""The recording side is light: what a training process loads, and what it does not."""

from pathlib import Path

import pytest

from recorded import run_python

HEAVY = ["duckdb", "starlette", "uvicorn", "ray", "opentelemetry", "omegaconf", "typer", "rich", "numpy", "pandas"]

CHECK = f"""
import sys
loaded = [name for name in {HEAVY!r} if name in sys.modules]
print(",".join(loaded))
"""

RECORD = """
insight.metric_gauge("x", 1.0, worker="a")
with insight.trace_span("s", attributes={"a": [1]}):
    insight.fact("a.b.put", {"task": 1})
insight.log("info", "m")
insight.close(0.5)
"""


@pytest.mark.parametrize(
    "use",
    [
        "import rl_insight as insight\n",
        "import rl_insight as insight\ninsight.init()\n" + RECORD,
        "import rl_insight as insight\ninsight.init(config={'server': {'url': 'http://127.0.0.1:9'}})\n" + RECORD,
        "import rl_insight as insight\nimport rl_insight.testing, rl_insight.agent_loop\n",
    ],
    ids=["import", "files", "http", "testing"],
)
def test_recording_loads_nothing_heavy(home: Path, use: str) -> None:
    assert run_python(use + CHECK, home, RL_INSIGHT_RESOURCES="true").strip() == ""


def test_importing_alone_loads_neither_threads_nor_network(home: Path) -> None:
    code = (
        "import rl_insight, sys, threading\n"
        "print([m for m in ('http.client', 'psutil', 'multiprocessing', 'asyncio', 'ssl') if m in sys.modules])\n"
        "print(threading.active_count())"
    )
    assert run_python(code, home).split("\n")[:2] == ["[]", "1"]


def test_omegaconf_is_loaded_for_a_file(home: Path, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("ship: {batch_lines: 7}\n")
    code = f"import rl_insight as insight\ninsight.init(config={str(tmp_path / 'c.yaml')!r})\n" + RECORD + CHECK
    assert run_python(code, home).strip() == "omegaconf"
