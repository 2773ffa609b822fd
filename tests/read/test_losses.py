"""A run that lacks lines says so at a glance."""

from __future__ import annotations

from pathlib import Path

from rl_insight.read.overview import overview
from stored import Recorder, stored


def test_overview_tells_which_lines_are_missing_and_whose(tmp_path: Path) -> None:
    whole, holed, lossy = Recorder("a", "trainer"), Recorder("b", "rollout", 0), Recorder("c", "rollout", 1)
    other = Recorder("d", "rollout", run="other")
    for recorder in (whole, holed, lossy, other):
        recorder.gauge("loss", 100, 1.0, step=1)
    holed.lines[-1]["seq"] += 7
    lossy._add("lost", 200, "gauge", count=80, reason="spool full")
    lossy._add("lost", 300, "span", count=3, reason="buffer full")
    other._add("lost", 200, "gauge", count=5, reason="spool full")
    with stored(tmp_path, *(one.body() for one in (whole, holed, lossy, other))) as store:
        found = [(one.what, one.worker, one.lines, one.reason) for one in overview(store, "run-1").losses]
    assert found == [("dropped", "rollout-1", 83, "spool full"), ("hole", "rollout-0", 7, None)]
