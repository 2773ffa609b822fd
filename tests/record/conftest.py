"""Every test records alone: no settings of the developer's, a home of its own, nothing left running."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import rl_insight as insight
from rl_insight.testing import Lines, recording


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for variable in [name for name in os.environ if name.startswith("RL_INSIGHT_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RL_INSIGHT_QUIET", "1")
    yield tmp_path / "home"
    insight.close(timeout=1.0)


@pytest.fixture
def lines(home: Path) -> Iterator[Lines]:
    """Lines recorded by the test, in memory."""
    with recording(run="test-run", ship={"flush_interval": 0.02}) as lines:
        yield lines
