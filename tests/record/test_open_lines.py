"""Work in progress is visible: an interval older than a flush is announced, once, before its span."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

import rl_insight as insight
from recorded import decoded, wait_until
from rl_insight.record.recorder import recorder
from rl_insight.testing import Lines, recording


def test_a_span_that_runs_on_is_announced_once_and_then_completed(lines: Lines) -> None:
    with insight.task("t1"), insight.trace_span("hangs", attributes={"tokens": 3, "api_key": "k"}):
        wait_until(lambda: len(lines("open")) == 2, "the open lines")
        for _ in range(5):
            lines()
        task, hangs = lines("open")
    spans = {line["name"]: line for line in lines("span")}
    assert len(lines("open")) == 2
    for line in (task, hangs):
        whole = spans[line["name"]]
        for field in ("id", "ts", "trace", "task"):
            assert line[field] == whole[field]
        assert line.get("parent") == whole.get("parent")
        assert line["seq"] < whole["seq"]
    assert hangs["attrs"] == {"tokens": 3, "api_key": "[redacted]"}
    assert recorder.announced == {}


def test_a_short_span_is_never_announced() -> None:
    with recording(ship={"flush_interval": 60.0}) as lines:
        for _ in range(100):
            with insight.trace_span("short"):
                pass
            lines.raw()
        assert lines("open") == []


def test_a_state_that_runs_on_shows_its_lane(lines: Lines) -> None:
    with insight.trace_state("rollout", "engine-0"):
        wait_until(lambda: lines("open"), "the open line")
    assert (lines("open")[0]["lane"], lines("open")[0]["part"]) == ("engine-0", "state")


def test_an_open_line_never_follows_its_span() -> None:
    threads, spans = 8, 400
    with recording(ship={"flush_interval": 0.001, "batch_lines": 50}) as lines:

        def work(seed: int) -> None:
            random, pause = Random(seed), threading.Event()
            for number in range(spans):
                with insight.trace_span(f"s{seed}-{number}"):
                    pause.wait(random.choice([0, 0, 0.0005, 0.001, 0.002]))

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))
        found = decoded(lines.raw())
        assert not recorder.open
        assert not recorder.announced
    ended: set[str] = set()
    announced: Counter[str] = Counter()
    for line in found:
        if line["kind"] == "span":
            ended.add(line["id"])
        elif line["kind"] == "open":
            assert line["id"] not in ended
            announced[line["id"]] += 1
    assert len(ended) == threads * spans
    assert announced
    assert set(announced.values()) == {1}
    assert set(announced) <= ended
