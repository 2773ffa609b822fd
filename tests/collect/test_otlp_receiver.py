"""The receiver: whatever comes, what it hands to the log are lines, each process's numbered without a hole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from harness import TS, wait_until
from recorded import Line, decoded
from rl_insight import config
from rl_insight.collect import Collector, DiskFull
from rl_insight.collect.otlp import BadMessage, Live, Receiver, read, receiver, senders

KINDS: dict[str, Any] = {
    "traces": ExportTraceServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "logs": ExportLogsServiceRequest,
}
Open = Callable[..., Receiver]


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    collector = Collector.open(tmp_path, config.Collector(fsync=False, min_free_bytes=0))
    yield collector
    collector.close()


@pytest.fixture
def receive(collector: Collector) -> Iterator[Open]:
    opened: list[Receiver] = []

    def make(**more: Any) -> Receiver:
        opened.append(Receiver(collector, config.Collector(), "me", **more))
        return opened[-1]

    yield make
    for one in opened:
        one.stop()


def lines(collector: Collector) -> list[Line]:
    return decoded(b"".join(chunk.data for chunk in collector.log.chunks()))


def spans(service: str, *names: str) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = service
    for name in names:
        group.scope_spans.add().spans.add(
            trace_id=b"t" * 16, span_id=name.encode().rjust(8), name=name, start_time_unix_nano=TS
        )
    return request


def mangled(data: st.DataObject, signal: str) -> bytes:
    """Bytes that are nearly a request: a real one in which something has been changed."""
    request = KINDS[signal]()
    group = getattr(
        request, {"traces": "resource_spans", "metrics": "resource_metrics", "logs": "resource_logs"}[signal]
    )
    one = group.add()
    one.resource.attributes.add(key=data.draw(st.sampled_from(["service.name", "rl.proc", "rl.run", "rl.rank"])))
    value = one.resource.attributes[0].value
    value.string_value = data.draw(st.text(max_size=5))
    one.resource.attributes.add(key="rl.run").value.string_value = data.draw(st.text(max_size=5))
    if signal == "traces":
        span = one.scope_spans.add().spans.add(trace_id=b"t" * 16, span_id=b"s" * 8, name="x", kind=5)
        span.start_time_unix_nano, span.end_time_unix_nano = TS, data.draw(st.integers(0, 2**64 - 1))
        span.attributes.add(key=data.draw(st.sampled_from(["rl.step", "rl.part", "rl.added", ""]))).value.int_value = 5
        span.events.add(name="exception", time_unix_nano=data.draw(st.integers(0, 2**64 - 1)))
    elif signal == "logs":
        record = one.scope_logs.add().log_records.add(time_unix_nano=data.draw(st.integers(0, 2**64 - 1)))
        record.body.kvlist_value.values.add(key="k").value.bytes_value = b"\\x00\\xff"
        record.attributes.add(key="rl.kind").value.string_value = data.draw(
            st.sampled_from(["fact", "lost", "process"])
        )
    else:
        metric = one.scope_metrics.add().metrics.add(name=data.draw(st.text(max_size=3)))
        point = metric.histogram.data_points.add(count=3, time_unix_nano=TS)
        point.explicit_bounds.extend(data.draw(st.lists(st.floats(), max_size=3)))
        point.bucket_counts.extend(data.draw(st.lists(st.integers(0, 2**64 - 1), max_size=4)))
    body = bytearray(request.SerializeToString())
    for at in data.draw(st.lists(st.integers(0, len(body) - 1), max_size=3)):
        body[at] = data.draw(st.integers(0, 255))
    return bytes(body)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(sorted(KINDS)))
def test_whatever_comes_is_refused_or_becomes_lines(
    collector: Collector, receive: Open, caplog: pytest.LogCaptureFixture, data: st.DataObject, signal: str
) -> None:
    taker = receive() if not hasattr(collector, "taker") else collector.taker
    collector.taker = taker  # type: ignore[attr-defined]
    try:
        message = read(signal, mangled(data, signal), as_json=False)
    except BadMessage:
        return
    outcome = taker.submit(signal, message, direct=data.draw(st.booleans())).result(30)
    assert outcome.rejected >= 0
    seqs: dict[str, int] = {}
    for line in lines(collector):  # read by the collector's own decoder
        assert line["seq"] == seqs.get(line["proc"], 0) + 1
        seqs[line["proc"]] = line["seq"]
    assert not caplog.records, "a line was made that is none"


def test_a_process_is_said_to_be_there_while_it_sends_and_to_have_ended_when_it_does_not(
    collector: Collector, receive: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver, "_TICK", 0.02)
    monkeypatch.setattr(receiver, "HEARTBEAT", 0.2)
    taker = receive()
    taker.submit("traces", spans("engine", "one")).result(30)
    wait_until(lambda: len(lines(collector)) > 3)
    assert not any(line.get("state") == "finished" for line in lines(collector))
    monkeypatch.setattr(receiver, "QUIET", 0.0)
    wait_until(lambda: lines(collector)[-1].get("state") == "finished")
    monkeypatch.setattr(receiver, "QUIET", 300.0)
    kinds = [line["kind"] for line in lines(collector)]
    assert kinds[:2] == ["process", "span"]
    assert set(kinds[2:]) == {"process"}
    taker.submit("traces", spans("engine", "two")).result(30)
    again = [line for line in lines(collector) if line["seq"] > len(kinds)]
    assert [line["kind"] for line in again[:2]] == ["process", "span"]
    assert again[0].get("state", "running") == "running"
    assert again[0]["proc"] == lines(collector)[0]["proc"]


def test_an_engine_is_in_the_run_that_is_recorded_at_the_moment(
    collector: Collector, receive: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver, "_TICK", 0.02)
    monkeypatch.setattr(receiver, "HEARTBEAT", 0.2)
    live: list[Live] = []
    taker = receive(live=lambda: live[-1] if live else None)
    for name in ("before", "first", "second"):
        taker.submit("traces", spans("engine", name)).result(30)
        live.append(Live(f"run-{name}", "math", "grpo"))
    first = [line for line in lines(collector) if line["kind"] == "process"]
    runs = {line["proc"]: line for line in reversed(first)}
    runs = dict(reversed(runs.items()))
    assert [line["run"] for line in runs.values()] == ["otel-engine", "run-before", "run-first"]
    assert [line.get("project") for line in runs.values()] == [None, "math", "math"]
    # It has left the runs that are over; the one that it was in before there was any goes on until it is silent.
    wait_until(lambda: sum(line.get("state") == "finished" for line in lines(collector)) == 2)
    ended = {line["run"] for line in lines(collector) if line.get("state") == "finished"}
    assert ended == {"run-before", "run-first"}


def test_nothing_is_lost_or_doubled_when_the_log_refuses_for_a_while(
    collector: Collector, receive: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    taker = receive()
    taker.submit("traces", spans("engine", "one")).result(30)
    with monkeypatch.context() as full:
        full.setattr(collector.log, "append", _refuse)
        for _ in range(2):
            with pytest.raises(DiskFull):
                taker.submit("traces", spans("engine", "one", "two")).result(30)
    outcome = taker.submit("traces", spans("engine", "one", "two")).result(30)
    assert (outcome.accepted, outcome.duplicates) == (1, 1)
    assert [line["name"] for line in lines(collector) if line["kind"] == "span"] == ["one", "two"]
    assert [line["seq"] for line in lines(collector)] == list(range(1, len(lines(collector)) + 1))


def _refuse(data: bytes) -> None:
    raise DiskFull(28, "no room")


def test_records_that_have_been_here_are_refused(collector: Collector, receive: Open) -> None:
    taker = receive()
    request = spans("engine", "one", "two")
    request.resource_spans[0].resource.attributes.add(key="rl.via").value.array_value.values.add().string_value = "me"
    outcome = taker.submit("traces", request).result(30)
    assert (outcome.accepted, outcome.rejected) == (0, 2)
    assert "already" in outcome.message
    assert taker.status().looped == 2
    assert not lines(collector)


def test_there_is_a_limit_to_how_many_resources_there_are(
    collector: Collector, receive: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(senders, "MAX_SENDERS", 3)
    taker = receive()
    outcomes = [taker.submit("traces", spans(f"s-{number}", "one")).result(30) for number in range(5)]
    assert [one.rejected for one in outcomes] == [0, 0, 0, 1, 1]


def test_stopping_answers_everybody(collector: Collector, receive: Open) -> None:
    taker = receive()
    waiting = [taker.submit("traces", spans(f"s-{number}", "one")) for number in range(50)]
    taker.stop()
    assert all(one.done() for one in waiting)
