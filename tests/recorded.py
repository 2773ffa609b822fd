"""What tests of the recording side share: a clean environment, Python in a process of its own, lines read back."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from rl_insight.schema import decode_lines

Line = dict[str, Any]


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """This environment without settings of ours and with another home, so that nothing of a developer's is touched."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RL_INSIGHT_")}
    return {**kept, "HOME": str(home), "RL_INSIGHT_QUIET": "1", "RL_INSIGHT_RESOURCES": "false", **more}


def start_python(code: str, home: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a Python process with a script."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(home, **environment),
    )


def run_python(code: str, home: Path, *arguments: str, expect: int = 0, **environment: str) -> str:
    """Run a script in a Python process of its own, and return what it printed."""
    process = start_python(code, home, *arguments, **environment)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == expect, f"ended with {process.returncode}: {out}\n{errors}"
    return out


def decoded(body: bytes) -> list[Line]:
    """Lines as plain dicts, after the collector's own check."""
    decode_lines(body)
    return msgspec.json.Decoder(Line).decode_lines(body)


def lines_in(folder: Path) -> list[Line]:
    """All lines of a folder that a file sink wrote or is still writing, each file checked for holes."""
    found: list[Line] = []
    for path in sorted(folder.glob("lines-*.jsonl")):
        body = path.read_bytes()
        lines = decoded(body[: body.rfind(b"\n") + 1])
        assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1)), path
        assert {line["proc"] for line in lines} <= {path.stem.removeprefix("lines-")}
        found += lines
    return found


def named(lines: Iterable[Line], name: str) -> list[Line]:
    """The lines of a name."""
    return [line for line in lines if line["name"] == name]


def of_kind(lines: Iterable[Line], kind: str) -> list[Line]:
    """The lines of a kind."""
    return [line for line in lines if line["kind"] == kind]


def wait_until(true: Callable[[], Any], what: str = "it", seconds: float = 90.0) -> None:
    """Wait for something that another thread or process will do."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.01)
