"""How an export behaves: what it sends, what it does with each answer, and what becomes of its place in the log."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from harness import TS, batch, encode, gauge_line, process_line, wait_until
from odd_lines import odd_lines
from otlp_sink import Reply, Sink
from rl_insight import config
from rl_insight.export.otlp import ExporterStatus, destinations, exporter
from rl_insight.serve.service import CollectorService
from rl_insight.store import rebuild
from stored import Recorder


@pytest.fixture
def sink() -> Iterator[Sink]:
    sink = Sink()
    yield sink
    sink.stop()


@contextmanager
def collecting(data_dir: Path, *wanted: dict[str, Any], **settings: Any) -> Iterator[CollectorService]:
    """A collector with its exporters, without a server in front."""
    export = [config.OtlpExport(**one) for one in wanted]
    opened = config.Collector(otlp_export=export, store_threads=1, min_free_bytes=0, **settings)
    data_dir.mkdir(exist_ok=True)
    service = CollectorService.open(data_dir, opened)
    try:
        yield service
    finally:
        service.close()


def take(service: CollectorService, body: bytes) -> None:
    service.submit(body).result(60)


def exported(service: CollectorService) -> ExporterStatus:
    """How the export is doing."""
    return service.exporters.status()[0]


def wait_exported(service: CollectorService) -> None:
    wait_until(lambda: not exported(service).lag_bytes)


def said(record: Any) -> dict[str, Any]:
    """The attributes of a span, a log record or a resource."""
    pairs = [(pair.key, pair.value, pair.value.WhichOneof("value")) for pair in record.attributes]
    return {key: getattr(value, kind) for key, value, kind in pairs if kind}


def test_answers_are_obeyed_by_the_rules(tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "FIRST_PAUSE", 0.02)
    wanted = {"endpoint": sink.url, "signals": ["traces"], "name": "rules"}
    with collecting(tmp_path / "data", wanted) as service:
        recorder = Recorder("p")
        sent = 0

        def record(name: str, count: int = 1) -> None:
            nonlocal sent
            for number in range(count):
                recorder.span(f"{name}-{number}", number, number + 1)
            take(service, encode(*recorder.lines[sent:]))
            sent = len(recorder.lines)
            wait_exported(service)

        sink.plan.extend([Reply(503, {"Retry-After": "0"}), Reply(429), Reply(502), Reply(504)])
        record("tried-again")
        assert [span.name for span in sink.spans()] == ["tried-again-0"]
        assert exported(service).retries == 4
        for status in (400, 401, 404, 500):
            sink.plan.append(Reply(status, body=Status(code=3, message="not like this").SerializeToString()))
            record(f"refused-{status}")
        assert [span.name for span in sink.spans()] == ["tried-again-0"]
        assert exported(service).dropped == 4
        assert "answered 500 to traces: not like this; 1 records dropped" in exported(service).last_error
        partial = ExportTraceServiceResponse()
        partial.partial_success.rejected_spans, partial.partial_success.error_message = 2, "too old"
        sink.plan.append(Reply(200, body=partial.SerializeToString()))
        record("partly", 3)
        assert (exported(service).dropped, exported(service).sent) == (6, 2)
        assert "too old" in exported(service).last_error

        def small_only(taken: Any) -> Reply | None:
            spans = sum(len(scope.spans) for group in taken.message.resource_spans for scope in group.scope_spans)
            return Reply(413) if spans > 1 else None

        sink.behaviour = small_only
        record("halved", 5)
        assert [span.name for span in sink.spans()][1:] == [f"halved-{number}" for number in range(5)]
        assert {taken.signal for taken in sink.requests} == {"traces"}


def test_what_is_sent_reads_well_elsewhere(tmp_path: Path, sink: Sink) -> None:
    wanted = {"endpoint": sink.url, "heartbeats": False}
    with collecting(tmp_path / "data", wanted) as service:
        take(service, odd_lines())
        take(service, encode(*[process_line("b", seq) for seq in range(1, 6)]))
        wait_exported(service)
    spans = {span.name: span for span in sink.spans()}

    state = spans["state"]
    assert (state.parent_span_id, said(state)["rl.lane"], said(state)["rl.part"]) == (b"", "l-1", "state")
    assert state.start_time_unix_nano == TS + 5_000_000
    assert all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in sink.spans())
    assert spans["cancelled"].status.code == 2
    assert spans["cancelled"].status.message == "by hand"
    session = said(spans["attributes"])
    assert (session["gen_ai.operation.name"], session["rl.session.id"], session["rl.task.id"]) == (
        "invoke_agent",
        "s",
        "t",
    )
    assert session["gen_ai.conversation.id"] == "mine"
    assert session["gen_ai.usage.output_tokens"] == 5
    generate = said(spans["generate"])
    assert (generate["gen_ai.operation.name"], generate["gen_ai.request.model"]) == ("text_completion", "7b")
    assert (generate["rl.reward"], generate["rl.weights.version"], generate["gen_ai.conversation.id"]) == (0.1, 3, "s")
    records = sink.records()
    assert {record.severity_text: record.severity_number for record in records if record.severity_text} == {
        "debug": 5, "info": 9, "warning": 13, "error": 17, "critical": 21, "notice": 0, "TRACE": 0,
    }  # fmt: skip
    fact = next(record for record in records if record.event_name == "queue.sample.put")
    assert said(fact)["rl.tag.queue"] == "q"
    # Of five equal process lines the first; of the other process the first and the last.
    assert sum(record.event_name == "rl.process" for record in records) == 3
    (seconds,) = (metric for metric in sink.metrics() if metric.name == "seconds")
    assert seconds.histogram.aggregation_temporality == 1
    assert [point.count for point in seconds.histogram.data_points] == [2, 2]
    assert [point.sum for point in seconds.histogram.data_points] == [101.0, 1010.0]
    for point in seconds.histogram.data_points:
        assert sum(point.bucket_counts) == point.count
        assert {pair.key for pair in point.attributes} == {"gpu"}
    resource = said(sink.accepted[0].message.resource_spans[0].resource)
    assert (resource["service.name"], resource["rl.run"], resource["service.instance.id"]) == (
        "rollout",
        "odd-run",
        "odd",
    )


def test_the_environment_names_a_destination_and_what_is_said_of_it(
    tmp_path: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": sink.url + "/", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=lab,host.name=no",
        "OTEL_SERVICE_NAME": "trainer-of-mine", "OTEL_METRICS_EXPORTER": "none",
    }  # fmt: skip
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with collecting(tmp_path / "data") as service:
        line = {"kind": "span", "proc": "p", "seq": 2, "ts": TS, "name": "one", "dur": 5}
        take(service, encode(process_line("p", host="real"), line, gauge_line("p", 3)))
        wait_exported(service)
        assert exported(service).signals == ["traces", "logs"]
    assert {taken.signal for taken in sink.accepted} == {"traces", "logs"}
    assert {taken.headers["api-key"] for taken in sink.accepted} == {"a b"}
    resource = said(sink.accepted[0].message.resource_spans[0].resource)
    assert resource["deployment.environment"] == "lab"
    assert resource["service.name"] == "trainer-of-mine"
    assert resource["host.name"] == "real"


def test_variables_of_one_signal_win_over_those_of_all() -> None:
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://all:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://tempo/otlp/v1/x",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=Bearer%20t", "OTEL_EXPORTER_OTLP_TIMEOUT": "2500",
        "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "grpc",
    }  # fmt: skip
    traces, rest = destinations([], environment)
    assert traces.urls == {"traces": "https://tempo/otlp/v1/x"}
    assert traces.headers == {"authorization": "Bearer t"}
    assert rest.urls == {"metrics": "http://all:4318/v1/metrics"}
    assert (rest.timeout, rest.gzip, rest.headers) == (2.5, False, {})
    assert destinations([], {**environment, "OTEL_SDK_DISABLED": "true"}) == []


@pytest.mark.parametrize("endpoint", ["tempo:4318", "http://", "ftp://tempo", "http://tempo:99999", "http://u:p@tempo"])
def test_a_wrong_endpoint_is_refused_at_the_start(endpoint: str) -> None:
    with pytest.raises(config.ConfigError):
        destinations([config.OtlpExport(endpoint)], {})


def test_a_deleted_run_is_not_sent_any_more_and_nothing_else_is_missed(tmp_path: Path, sink: Sink) -> None:
    wanted = {"endpoint": sink.url, "signals": ["metrics"], "batch_lines": 20}
    with collecting(tmp_path / "data", wanted) as service:
        for number in range(4):
            take(service, batch(f"p{number}", 1, 50, run=f"run-{number % 2}"))
        wait_exported(service)
        gate = threading.Event()
        sink.behaviour = lambda taken: None if gate.is_set() else Reply(503)
        for number in range(4, 10):
            take(service, batch(f"p{number}", 1, 50, run=f"run-{number % 2}"))
        wait_until(lambda: exported(service).retries > 0)
        assert service.delete_run("run-0") == 250
        gate.set()
        wait_exported(service)
        take(service, batch("p1", 51, 7))
        wait_exported(service)
    sent: dict[str, int] = {}
    for taken in sink.accepted:
        for group in taken.message.resource_metrics:
            points = sum(len(metric.gauge.data_points) for scope in group.scope_metrics for metric in scope.metrics)
            proc = said(group.resource)["rl.proc"]
            sent[proc] = sent.get(proc, 0) + points
    # Two processes of the deleted run had been sent before it was deleted; of the other run all was, once.
    assert sent == {"p0": 49, "p2": 49, "p1": 56, "p3": 49, "p5": 49, "p7": 49, "p9": 49}


def test_what_retention_takes_before_it_is_sent_is_counted(tmp_path: Path, sink: Sink) -> None:
    sink.stop()
    wanted = {"endpoint": sink.url}
    with collecting(tmp_path / "data", wanted, segment_bytes=5_000, retain_bytes=2_000) as service:
        for first in range(1, 1000, 50):
            take(service, batch("p", first, 50))
        wait_until(lambda: exported(service).missed_bytes > 0)
        sink.start()
        wait_exported(service)
        assert exported(service).missed_bytes > 0
        assert exported(service).sent < 1000


def test_the_place_survives_a_restart_and_a_rebuild_of_the_store(tmp_path: Path, sink: Sink) -> None:
    with collecting(tmp_path / "data", {"endpoint": sink.url}) as service:
        take(service, batch("p", 1, 100))
        wait_exported(service)
    rebuild(tmp_path / "data")
    with collecting(tmp_path / "data", {"endpoint": sink.url}) as service:
        take(service, batch("p", 101, 10))
        wait_exported(service)
        assert exported(service).sent == 10
        wait_until(lambda: service.store.rows("SELECT count(*) FROM position").rows == [(2,)])
    assert len([point for metric in sink.metrics() for point in metric.gauge.data_points]) == 109
    groups = [group for one in sink.accepted if one.signal == "metrics" for group in one.message.resource_metrics]
    # Who wrote the later lines had said so before the restart.
    assert {said(group.resource)["rl.run"] for group in groups} == {"run-1"}


def test_a_new_destination_begins_now_unless_told_otherwise(tmp_path: Path, sink: Sink) -> None:
    with collecting(tmp_path / "data") as service:
        take(service, batch("p", 1, 100))
    new, all_of_it = {"endpoint": sink.url, "name": "new"}, {"endpoint": sink.url, "name": "all", "begin": "start"}
    with collecting(tmp_path / "data", new, all_of_it) as service:
        take(service, batch("p", 101, 10))
        wait_until(lambda: not any(one.lag_bytes for one in service.exporters.status()))
        assert [one.sent for one in service.exporters.status()] == [10, 110]


def test_what_came_by_otlp_can_be_left_out(tmp_path: Path, sink: Sink) -> None:
    with collecting(tmp_path / "data", {"endpoint": sink.url, "received": False}) as service:
        take(service, batch("p", 1, 3) + batch("otlp-x", 1, 3))
        wait_exported(service)
        assert exported(service).sent == 3


def test_a_destination_that_never_answers_does_not_hold_up_the_end(tmp_path: Path, sink: Sink) -> None:
    answered = threading.Event()

    def hang(taken: Any) -> Reply | None:
        answered.wait(120)
        return None

    sink.behaviour = hang
    with collecting(tmp_path / "data", {"endpoint": sink.url, "timeout": 120}) as service:
        take(service, batch("p", 1, 10))
        wait_until(lambda: sink.requests)
    assert not answered.is_set()
    answered.set()
