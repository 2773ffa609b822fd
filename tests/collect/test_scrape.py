"""What the collector makes of the text that engines show: samples, what counters moved by, lines without a hole."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, generate_latest

from recorded import decoded
from rl_insight.collect import Accepted, Busy
from rl_insight.collect.engine import Recording, Run, Series
from rl_insight.collect.exposition import BadBody, Reader, Sample, samples
from rl_insight.collect.targets import BadTarget, Registration, Target, Targets, checked

ENGINE = Target("10.0.0.5:8000", "vllm", {"replica": "0"})


def counted(value: float, **labels: str) -> Sample:
    return Sample("count", "tokens_total", labels, value)


def moved(series: Series, *read: Sample, gap: float = 1e9) -> list[float]:
    points, remembered = series.points(read, gap=gap)
    series.remember(remembered)
    return [one.value for one, _ in points]


def test_each_type_of_metric_is_read_as_what_it_is() -> None:
    registry = CollectorRegistry()
    Counter("c", "", registry=registry).inc(2)
    Gauge("g", "", ["a"], registry=registry).labels('quo"te\n').set(float("nan"))
    Gauge("h", "", ["a"], registry=registry).labels('quo"te\n').set(-3)
    Histogram("d", "", buckets=(1.0,), registry=registry).observe(0.5)
    Summary("s", "", registry=registry).observe(7)
    Gauge("python_noise", "", registry=registry).set(1)
    text = generate_latest(registry) + b"untyped_one 4\n"
    found = {(one.kind, one.name, *one.labels.values(), one.value) for one in samples(text, drop=["python_"])}
    assert found == {
        ("count", "c_total", 2.0),
        ("gauge", "h", 'quo"te\n', -3.0),
        ("count", "d_bucket", "1.0", 1.0),
        ("count", "d_bucket", "+Inf", 1.0),
        ("count", "d_sum", 0.5),
        ("count", "d_count", 1.0),
        ("count", "s_sum", 7.0),
        ("count", "s_count", 1.0),
        ("gauge", "untyped_one", 4.0),
    }
    assert not [one for one in samples(text, buckets=False) if one.name == "d_bucket"]


def test_openmetrics_is_read_by_its_own_rules() -> None:
    text = b'# TYPE foo counter\nfoo_total 17.0 # {trace_id="a"} 1.0\nfoo_created 1.0\n# EOF\n'
    assert list(samples(text, "application/openmetrics-text; version=1.0.0")) == [
        Sample("count", "foo_total", {}, 17.0)
    ]


@given(st.binary(max_size=300))
def test_whatever_a_target_answers_is_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(BadBody):
        assert all(one.value - one.value == 0 for one in samples(body, "text/plain"))
    with contextlib.suppress(BadBody):
        assert all(one.value - one.value == 0 for one in samples(body, "application/openmetrics-text"))


NAMES = st.sampled_from(["a", "b:c", "d_total", "e_bucket", "python_x"])
VALUES = st.sampled_from(["1", "2.5", "NaN", "+Inf", "-3e2"])
TEXTS = st.sampled_from(["x", 'sp ace} 7"', "new\nline", "back\\slash", ""])
LINES = st.tuples(NAMES, st.dictionaries(st.sampled_from(["k", "le"]), TEXTS, max_size=2), VALUES, st.booleans())


@given(st.lists(st.lists(LINES, min_size=1, max_size=6), min_size=1, max_size=6))
def test_reading_a_target_again_finds_what_reading_it_for_the_first_time_would(reads: list[list[Any]]) -> None:
    reader = Reader(drop=["python_"])
    for lines in reads:
        body = "# TYPE d_total counter\n"
        for name, labels, value, stamped in sorted(lines, key=lambda line: line[0]):
            said = ",".join(f"{key}={_quoted(text)}" for key, text in labels.items())
            body += f"{name}{{{said}}} {value}{' 1700000000000' if stamped else ''}\n"
        for _ in range(2):
            assert reader.read(body.encode()) == list(samples(body.encode(), drop=["python_"]))


def test_an_empty_answer_is_none_however_often_the_target_was_read() -> None:
    reader = Reader()
    for _ in range(2):
        assert reader.read(b"a 1\n") == [Sample("gauge", "a", {}, 1.0)]
    with pytest.raises(BadBody, match="empty"):
        reader.read(b"")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"') + '"'


def test_a_counter_counts_from_the_first_read_on_and_from_zero_after_a_restart() -> None:
    series = Series(ENGINE, 100)
    assert moved(series, counted(1000)) == [0]
    assert moved(series, counted(1007)) == [7]
    assert moved(series, counted(1007)) == []
    assert moved(series, counted(3)) == [3]
    # A series that was not there before is new, and one that comes again after a long silence begins anew.
    assert moved(series, counted(4), counted(5, finished="stop")) == [1, 0]
    assert moved(series, counted(100), gap=-1.0) == [0]


@given(st.lists(st.one_of(st.integers(0, 1000), st.none()), max_size=30))
def test_nothing_that_was_read_is_counted_twice_or_left_out(steps: list[int | None]) -> None:
    series = Series(ENGINE, 10)
    stands, truth = 0.0, 0.0
    got = sum(moved(series, counted(0.0)))
    for step in steps:
        if step is None:
            stands = 0.0
        else:
            stands, truth = stands + step, truth + step
        got += sum(moved(series, counted(stands)))
    assert got == truth


def test_labels_say_which_engine_it_is_and_keep_the_engines_own() -> None:
    points, _ = Series(ENGINE, 10).points([Sample("gauge", "g", {"engine": "0", "model": "m"}, 1.0)], gap=1)
    assert points[0][1] == {
        "engine": "10.0.0.5:8000",
        "exported_engine": "0",
        "job": "vllm",
        "model": "m",
        "replica": "0",
    }


def test_series_beyond_the_limit_are_left_out_and_counted() -> None:
    series = Series(ENGINE, 3)
    assert len(moved(series, *[Sample("gauge", f"g{number}", {}, 1.0) for number in range(10)])) == 3
    assert (series.seen, series.skipped) == (3, 7)


def test_a_busy_collector_makes_no_hole_loses_no_count_and_hears_what_was_lost() -> None:
    taken: list[bytes] = []
    busy = False

    def submit(body: bytes) -> Future[Accepted]:
        if busy:
            raise Busy("later")
        taken.append(body)
        answer: Future[Accepted] = Future()
        answer.set_result(Accepted(1, 0))
        return answer

    series, recording = Series(ENGINE, 10), Recording(Run("r", "p", "e"), submit, heartbeat=3600.0)

    def read(tokens: float) -> None:
        points, remembered = series.points([counted(tokens), Sample("gauge", "g", {}, tokens)], gap=1e9)
        if recording.record(points, 1):
            series.remember(remembered)

    read(0)
    busy = True
    read(5)
    busy = False
    read(7)
    recording.finish()
    lines = decoded(b"".join(taken))
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert [(line["kind"], line.get("state"), line.get("role")) for line in lines if line["kind"] == "process"] == [
        ("process", None, "engine"),
        ("process", "finished", "engine"),
    ]
    assert [line["value"] for line in lines if line["kind"] == "count"] == [0.0, 7.0]
    assert [line["count"] for line in lines if line["kind"] == "lost"] == [1]


HOSTS = st.sampled_from(["a", "engine-0.cluster.local", "10.0.0.5", "[fd00::1]", "under_score"])


@given(host=HOSTS, port=st.integers(1, 65535), replica=st.integers(0, 99))
def test_a_good_target_is_kept_as_it_was_registered(host: str, port: int, replica: int) -> None:
    (made,) = checked(Registration([f"{host}:{port}"], "vllm", [{"replica": replica}], "run"))
    assert made == Target(f"{host}:{port}", "vllm", {"replica": str(replica)}, "run")


def test_targets_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    asked = Registration(["a:1", {"target": "https://b:2/x", "labels": {"z": True}}], "odd/../job", {"k": 1}, "r")
    targets = Targets(tmp_path / "t")
    targets.add(checked(asked))
    again = Targets(tmp_path / "t")
    assert sorted(again.all(), key=lambda one: one.target) == sorted(targets.all(), key=lambda one: one.target)
    assert [path.parent for path in (tmp_path / "t").iterdir()] == [tmp_path / "t"]
    with pytest.raises(BadTarget, match="the most"):
        targets.add(checked(Registration([f"h{number}:1" for number in range(10_000)])))
    assert len(targets.all()) == 2
