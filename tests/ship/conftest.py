"""Every test records alone: no settings of the developer's, a home of its own, nothing left running."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rl_insight as insight
from listener import Listener


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for variable in [name for name in os.environ if name.startswith("RL_INSIGHT_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RL_INSIGHT_QUIET", "1")
    yield tmp_path / "home"
    insight.close(timeout=1.0)


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A collector that misbehaves as it is told to."""
    listening = Listener()
    yield listening
    insight.close(timeout=1.0)
    listening.stop()


Send = Callable[..., None]


@pytest.fixture
def send_to(listener: Listener, tmp_path: Path) -> Send:
    """Starts recording to the listener with quick flushes: `send_to(batch_lines=10)`."""

    def start(*, token: str = "", **ship: Any) -> None:
        insight.init(
            run="r1",
            config={
                "server": {"url": listener.url, "token": token},
                "ship": {"flush_interval": 0.02, "heartbeat": 3600.0, "spool_dir": str(tmp_path / "spool"), **ship},
                "resources": {"enabled": False},
            },
        )

    return start
