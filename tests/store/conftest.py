"""A collector, its store, and lines of every kind."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from machine import Machine
from rl_insight.schema import Count, Fact, Gauge, Line, Log, Lost, Open, Process, Sample, Span

Mixed = Callable[..., list[Line]]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "data")
    yield machine
    machine.close()


@pytest.fixture
def mixed() -> Mixed:
    """Makes lines of every kind: `mixed(20, proc="p", run="r", first=1)`; the first is the process line."""

    def make(count: int, proc: str = "p", run: str = "r", first: int = 1, process: bool = True) -> list[Line]:
        lines: list[Line] = []
        for seq in range(first, first + count):
            about: dict[str, Any] = {"proc": proc, "seq": seq, "ts": 1000 + seq}
            kind = seq % 8
            if seq == first and process:
                lines.append(Process(**about, name="process", run=run, schema="1.0", role="actor", rank=seq))
            elif kind == 0:
                lines.append(Span(**about, name="rollout", dur=seq, id=f"s{seq}", lane="l", attrs={"n": seq}))
            elif kind == 1:
                lines.append(Gauge(**about, name="loss", value=seq / 2, labels={"shard": str(seq % 3)}))
            elif kind == 2:
                lines.append(Count(**about, name="tokens", value=seq))
            elif kind == 3:
                lines.append(Sample(**about, name="latency", value=0.25))
            elif kind == 4:
                lines.append(Log(**about, name="hello", level="INFO", attrs={"a": [1, {"b": None}]}))
            elif kind == 5:
                tags = {"task": f"t{seq % 5}", "session": str(seq)}
                lines.append(Fact(**about, name="rollout.session.started", tags=tags, attempt=2, outcome="ok"))
            elif kind == 6:
                lines.append(Open(**about, name="turn", id=f"o{seq}"))
            else:
                lines.append(Lost(**about, name="gauge", count=seq, reason="buffer full"))
        return lines

    return make
