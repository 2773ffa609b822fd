"""Anything that speaks OpenTelemetry can send here: OTLP over HTTP, by the SDK and by hand, against a real server."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.client
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard
from google.rpc.status_pb2 import Status
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind

from harness import TS, Server, running_server, wait_until
from recorded import run_python

PROTOBUF = "application/x-protobuf"
NEVER = 3_600_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("otlp") / "data") as server:
        yield server


class Raw(NamedTuple):
    status: int
    kind: str
    body: bytes
    retry_after: str | None


def post(server: Server, signal: str, body: bytes, kind: str = PROTOBUF, **headers: str) -> Raw:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
    sent = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection.request("POST", f"/v1/{signal}", body, sent)
    answer = connection.getresponse()
    said = Raw(answer.status, answer.headers.get_content_type(), answer.read(), answer.headers.get("Retry-After"))
    connection.close()
    return said


def request_of(service: str, *names: str, **fields: Any) -> ExportTraceServiceRequest:
    """A request with a span for each name."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = service
    scope = group.scope_spans.add()
    for number, name in enumerate(names, 1):
        made = {"trace_id": b"t" * 16, "span_id": name.encode().ljust(8, b".")[:8], "name": name}
        made |= {"start_time_unix_nano": TS + number, "end_time_unix_nano": TS + number + 5}
        scope.spans.add(**{**made, **fields})
    return request


def traced(server: Server, service: str, **more: Any) -> TracerProvider:
    provider = TracerProvider(resource=Resource.create({"service.name": service, **more}))
    exporter = OTLPSpanExporter(f"{server.url}/v1/traces", compression=Compression.Gzip)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=NEVER))
    return provider


def spans(server: Server, run: str) -> dict[str, dict[str, Any]]:
    server.wait_stored()
    columns = "name, id, parent, trace, ts, dur, status, reason, task, session, step, lane, part, attrs, proc"
    rows = server.query(f"SELECT {columns} FROM span WHERE run = ?", [run])
    found = [dict(zip(columns.split(", "), row, strict=True)) for row in rows]
    return {one["name"]: {**one, "attrs": json.loads(one["attrs"] or "{}")} for one in found}


# -- the SDK


def test_spans_of_the_sdk_land_with_their_resource_ids_status_events_and_links(server: Server) -> None:
    provider = traced(server, "engine", **{"host.name": "node-7", "process.pid": 4711, "service.version": "2.1"})
    tracer = provider.get_tracer("vllm", "0.9")
    with tracer.start_as_current_span("outer", kind=SpanKind.SERVER) as outer:
        outer.set_attributes({"n": 3, "ratio": 0.5, "yes": True, "list": ["a", "b"], "rl.task.id": "t-1", "rl.step": 7})
        with (
            contextlib.suppress(ValueError),
            tracer.start_as_current_span("inner", links=[Link(outer.get_span_context())]) as inner,
        ):
            inner.add_event("tokenized", {"tokens": 12})
            raise ValueError("out of memory")
    provider.shutdown()
    found = spans(server, "otel-engine")
    context = outer.get_span_context()
    assert found["outer"]["trace"] == found["inner"]["trace"] == f"{context.trace_id:032x}"
    assert found["outer"]["id"] == found["inner"]["parent"] == f"{context.span_id:016x}"
    assert (found["outer"]["status"], found["inner"]["status"]) == (None, "error")
    assert found["inner"]["reason"] == "ValueError: out of memory"
    assert (found["outer"]["task"], found["outer"]["step"]) == ("t-1", 7)
    assert found["outer"]["attrs"] == {
        "n": 3, "ratio": 0.5, "yes": True, "list": ["a", "b"], "otel.span.kind": "server",
        "otel.scope.name": "vllm", "otel.scope.version": "0.9",
    }  # fmt: skip
    assert found["inner"]["attrs"]["otel.links"] == [{"trace": found["outer"]["trace"], "id": found["outer"]["id"]}]
    logs = server.query("SELECT name, level, parent, trace, attrs FROM log WHERE run = 'otel-engine' ORDER BY ts")
    assert [row[:4] for row in logs] == [
        ["tokenized", "info", found["inner"]["id"], found["inner"]["trace"]],
        ["ValueError: out of memory", "error", found["inner"]["id"], found["inner"]["trace"]],
    ]
    assert json.loads(logs[0][4]) == {"tokens": 12}
    about = server.query("SELECT role, node, host, pid, state, versions FROM process WHERE run = 'otel-engine'")
    assert [row[:5] for row in about] == [["engine", "node-7", "node-7", 4711, "running"]]
    assert json.loads(about[0][5])["engine"] == "2.1"


def test_spans_of_concurrent_asyncio_tasks_keep_their_parents(server: Server) -> None:
    provider = traced(server, "async-engine")
    tracer = provider.get_tracer("t")

    async def one(number: int) -> None:
        with tracer.start_as_current_span(f"request-{number}"):
            await asyncio.sleep(0.001)
            with tracer.start_as_current_span(f"step-{number}"):
                await asyncio.sleep(0.001)

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(50)))

    asyncio.run(all_of_them())
    provider.shutdown()
    found = spans(server, "otel-async-engine")
    assert len(found) == 100
    assert all(found[f"step-{n}"]["parent"] == found[f"request-{n}"]["id"] for n in range(50))
    assert server.query("SELECT count(DISTINCT proc) FROM span WHERE run = 'otel-async-engine'") == [[1]]


@pytest.mark.parametrize("temporality", [AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA])
def test_metrics_of_the_sdk_become_points(server: Server, temporality: AggregationTemporality) -> None:
    service = f"metered-{temporality.name.lower()}"
    exporter = OTLPMetricExporter(f"{server.url}/v1/metrics", preferred_temporality={Counter: temporality})
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=NEVER)
    provider = MeterProvider([reader], resource=Resource.create({"service.name": service}))
    meter = provider.get_meter("m")
    requests = meter.create_counter("requests", description="how many came")
    waiting, usage = meter.create_up_down_counter("waiting"), meter.create_gauge("kv.usage")
    latency = meter.create_histogram("latency", explicit_bucket_boundaries_advisory=[0.1, 1.0])
    for amount, level, seconds in ((3, 5, 0.05), (4, -2, 0.5)):
        requests.add(amount, {"model": "7b", "tier": 1})
        waiting.add(level)
        usage.set(amount / 10)
        latency.record(seconds)
        provider.force_flush()
    provider.shutdown()
    server.wait_stored()
    rows = server.query("SELECT kind, name, value, labels FROM point WHERE run = ? ORDER BY seq", [f"otel-{service}"])
    points = [(kind, name, value) for kind, name, value, _ in rows if name in ("requests", "waiting", "kv.usage")]
    # The SDK flushes once more when it shuts down; what has not moved is not told again.
    assert points[:6] == [
        ("count", "requests", 3.0), ("gauge", "waiting", 5.0), ("gauge", "kv.usage", 0.3),
        ("count", "requests", 4.0), ("gauge", "waiting", 3.0), ("gauge", "kv.usage", 0.4),
    ]  # fmt: skip
    assert sum(value for kind, name, value in points if name == "requests") == 7
    assert {labels for _, name, _, labels in rows if name == "requests"} == {'{"model":"7b","tier":"1"}'}
    histogram: dict[str, float] = {}
    for _, name, value, labels in rows:
        if name.startswith("latency"):
            key = name + (json.loads(labels)["le"] if labels else "")
            histogram[key] = histogram.get(key, 0) + value
    assert histogram == {
        "latency_count": 2, "latency_sum": 0.55, "latency_bucket0.1": 1, "latency_bucket1": 2, "latency_bucket+Inf": 2,
    }  # fmt: skip
    about = server.query("SELECT attrs FROM process WHERE run = ?", [f"otel-{service}"])
    assert json.loads(about[0][0])["help"] == {"requests": "how many came"}


def test_log_records_of_the_sdk_have_level_body_and_place(server: Server) -> None:
    provider = LoggerProvider(resource=Resource.create({"service.name": "talker"}))
    provider.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(f"{server.url}/v1/logs")))
    logger = provider.get_logger("my.module")
    tracer = TracerProvider().get_tracer("t")
    with tracer.start_as_current_span("around") as span:
        logger.emit(
            LogRecord(
                timestamp=TS, severity_number=SeverityNumber.WARN, body="slow disk", attributes={"rl.session.id": "s-9"}
            )
        )
    logger.emit(LogRecord(timestamp=TS + 1, severity_number=SeverityNumber.FATAL2, body={"a": [1, None, "x"]}))
    attributes = {"rl.kind": "fact", "rl.tag.queue": "replay", "rl.outcome": "ok", "depth": 3}
    logger.emit(LogRecord(timestamp=TS + 2, event_name="queue.sample.put", attributes=attributes))
    provider.shutdown()
    server.wait_stored()
    columns = "ts, name, level, logger, trace, parent, session, attrs"
    rows = server.query(f"SELECT {columns} FROM log WHERE run = 'otel-talker' ORDER BY ts")
    context = span.get_span_context()
    ids = [f"{context.trace_id:032x}", f"{context.span_id:016x}"]
    assert rows[0] == [TS, "slow disk", "warning", "my.module", *ids, "s-9", None]
    assert (rows[1][2], json.loads(rows[1][7])["body"]) == ("critical", {"a": [1, None, "x"]})
    facts = server.query("SELECT name, tags, outcome, attrs FROM fact WHERE run = 'otel-talker'")
    assert facts == [["queue.sample.put", '{"queue":"replay"}', "ok", '{"depth":3}']]


def test_spans_of_the_sdk_join_the_trace_and_the_run_of_a_recorder(tmp_path: Path) -> None:
    code = """
        import rl_insight as insight
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.propagate import extract
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor

        insight.init(project="math", experiment_name="grpo", role="trainer")
        provider = TracerProvider(resource=Resource.create({"service.name": "reward"}))
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
        insight.flush()
        import json, sys, time, urllib.request
        def known():
            body = json.dumps({"sql": "SELECT count(*) FROM process"}).encode()
            with urllib.request.urlopen(sys.argv[1] + "/api/v1/query", body) as answer:
                return json.load(answer)["rows"][0][0]
        while not known():
            time.sleep(0.05)
        with insight.trace_span("rollout"):
            carrier = insight.inject()
            with provider.get_tracer("t").start_as_current_span("score", context=extract(carrier)) as theirs:
                from opentelemetry.propagate import inject
                back = {}
                inject(back)
            with insight.extract(back), insight.trace_span("after"):
                pass
        insight.close()
    """
    with running_server(tmp_path / "data") as server:
        environment = {
            "RL_INSIGHT_SERVER_URL": server.url,
            "OTEL_EXPORTER_OTLP_ENDPOINT": server.url,
        }
        run_python(code, tmp_path, server.url, **environment)
        server.wait_stored()
        rows = server.query("SELECT name, id, parent, trace, run, proc FROM span")
        found = {row[0]: row for row in rows}
        assert found["score"][2] == found["rollout"][1]
        assert found["after"][2] == found["score"][1]
        assert len({row[3] for row in rows}) == 1
        # Nobody told the SDK of the run: it was the only one that was being recorded.
        assert len({row[4] for row in rows}) == 1
        assert len({row[5] for row in rows}) == 2
        about = server.query("SELECT project, experiment FROM process WHERE role = 'reward'")
        assert about == [["math", "grpo"]]


def test_the_code_of_the_documents_works(server: Server, tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "otlp.md").read_text()
    (code,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    run_python(code, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=server.url)
    found = spans(server, "my-run")["score"]
    assert (found["task"], found["session"]) == ("task-17", "task-17.3")


# -- by hand


def test_json_has_hexadecimal_ids_numbers_as_text_and_is_answered_in_json(server: Server) -> None:
    span = {
        "traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "EEE19B7EC3C1B174", "parentSpanId": "eee19b7ec3c1b173",
        "name": "by hand", "startTimeUnixNano": str(TS), "endTimeUnixNano": TS + 10, "kind": 3, "droppedStuff": 1,
        "attributes": [
            {"key": "n", "value": {"intValue": "9007199254740993"}},
            {"key": "d", "value": {"doubleValue": "NaN"}},
            {"key": "b", "value": {"bytesValue": "aGVsbG8="}},
            {"key": "m", "value": {"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": False}}]}}},
        ],
        "status": {"code": 1},
    }  # fmt: skip
    nobody = {**span, "spanId": "", "name": "without an id"}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "hand"}}]}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span, nobody]}]}], "unknown": []}
    answer = post(server, "traces", json.dumps(body).encode(), "application/json; charset=utf-8")
    assert (answer.status, answer.kind) == (200, "application/json")
    partial = json.loads(answer.body)["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert "span_id" in partial["errorMessage"]
    found = spans(server, "otel-hand")
    assert list(found) == ["by hand"]
    assert found["by hand"]["trace"] == "5b8efff798038103d269b633813fc60c"
    assert (found["by hand"]["id"], found["by hand"]["parent"]) == ("eee19b7ec3c1b174", "eee19b7ec3c1b173")
    assert (found["by hand"]["ts"], found["by hand"]["dur"], found["by hand"]["status"]) == (TS, 10, "ok")
    assert found["by hand"]["attrs"] == {
        "n": 9007199254740993, "d": "nan", "b": "aGVsbG8=", "m": {"k": False}, "otel.span.kind": "client",
    }  # fmt: skip


def test_a_bad_record_is_left_out_and_counted_and_the_rest_is_kept(server: Server) -> None:
    request = request_of("mixed", "good", "late")
    request.resource_spans[0].scope_spans[0].spans[1].start_time_unix_nano = 2**63
    request.MergeFrom(request_of("mixed", "fine"))
    answer = post(server, "traces", request.SerializeToString())
    assert (answer.status, answer.kind) == (200, PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert partial.rejected_spans == 1
    assert "time" in partial.error_message
    assert set(spans(server, "otel-mixed")) == {"good", "fine"}


def test_a_request_sent_again_is_stored_once_however_it_is_packed(server: Server) -> None:
    body = request_of("again", "one", "two").SerializeToString()
    assert post(server, "traces", body).status == 200
    assert post(server, "traces", gzip.compress(body), Content_Encoding="gzip").status == 200
    assert post(server, "traces", zstandard.compress(body), Content_Encoding="zstd").status == 200
    server.wait_stored()
    assert server.query("SELECT count(*) FROM span WHERE run = 'otel-again'") == [[2]]


@pytest.mark.parametrize("signal", ["traces", "metrics", "logs"])
def test_garbage_is_refused_in_its_own_encoding(server: Server, signal: str) -> None:
    refused = post(server, signal, b"\x0a\xff\xff\xff\xff\x0fgarbage")
    assert (refused.status, refused.kind) == (400, PROTOBUF)
    assert "protobuf" in Status.FromString(refused.body).message
    refused = post(server, signal, b'{"resourceSpans": 3, "resourceMetrics": 3, "resourceLogs": 3}', "application/json")
    assert (refused.status, refused.kind) == (400, "application/json")
    assert "$.resource" in json.loads(refused.body)["message"]
    assert post(server, signal, b"[" * 100_000, "application/json").status == 400
    assert post(server, signal, b"\xff\xfe", "application/json").status == 400
    unknown = post(server, signal, b"", "text/plain")
    assert unknown.status == 415
    assert "application/x-protobuf" in json.loads(unknown.body)["message"]
    assert post(server, signal, b"not gzip", Content_Encoding="gzip").status == 400
    assert post(server, signal, b"", Content_Encoding="br").status == 415
    assert post(server, signal, b"").status == 200


def test_a_body_over_20_mib_is_refused_packed_or_not(server: Server) -> None:
    big = request_of("big", "span", trace_state="x" * (20 * 2**20)).SerializeToString()
    packed = gzip.compress(big, 1)
    assert len(packed) < 2**20
    for body, headers in ((big, {}), (packed, {"Content_Encoding": "gzip"})):
        refused = post(server, "traces", body, **headers)
        assert (refused.status, refused.kind) == (413, PROTOBUF)
        assert "20971520" in Status.FromString(refused.body).message
    assert not spans(server, "otel-big")


def test_secrets_and_text_are_taken_out_of_what_others_send(server: Server) -> None:
    request = request_of("leaky", "call sk-abcdefghijklmnopqrstuvwx")
    span = request.resource_spans[0].scope_spans[0].spans[0]
    said = {
        "authorization": "Bearer abc", "note": "token=abcdefgh12345678", "gen_ai.input.messages": "what is 2+2?",
        "gen_ai.prompt.0.content": "hello", "input.value": "secret prompt", "gen_ai.usage.output_tokens": 5,
    }  # fmt: skip
    for key, value in said.items():
        target = span.attributes.add(key=key).value
        if isinstance(value, int):
            target.int_value = value
        else:
            target.string_value = value
    assert post(server, "traces", request.SerializeToString()).status == 200
    (found,) = spans(server, "otel-leaky").values()
    assert found["name"] == "call [redacted]"
    assert found["attrs"] == {
        "authorization": "[redacted]", "note": "[redacted]", "gen_ai.usage.output_tokens": 5, "tokens": 5,
        "gen_ai.input.messages": "[text not recorded: 12 chars]",
        "gen_ai.prompt.0.content": "[text not recorded: 5 chars]",
        "input.value": "[text not recorded: 13 chars]",
    }  # fmt: skip


def test_sessions_told_by_otel_attributes_are_sessions(server: Server) -> None:
    request = request_of("agent", "session")
    request.resource_spans[0].resource.attributes.add(key="rl.run").value.string_value = "told-run"
    request.resource_spans[0].resource.attributes.add(key="rl.role").value.string_value = "rollout"
    span = request.resource_spans[0].scope_spans[0].spans[0]
    for key, value in (("rl.part", "session"), ("gen_ai.conversation.id", "c-1"), ("rl.task.id", "t-1")):
        span.attributes.add(key=key).value.string_value = value
    span.attributes.add(key="rl.reward").value.double_value = 0.5
    assert post(server, "traces", request.SerializeToString()).status == 200
    server.wait_stored()
    (session,) = server.request("GET", "/api/v1/runs/told-run/sessions").body["sessions"]
    assert (session["session"], session["task"], session["reward"]) == ("c-1", "t-1", 0.5)
    assert session["worker"].startswith("rollout")


def test_the_run_can_be_named_by_a_header(server: Server) -> None:
    body = request_of("headed", "span").SerializeToString()
    assert post(server, "traces", body, rl_insight_run="by-header").status == 200
    assert set(spans(server, "by-header")) == {"span"}


def test_every_resource_is_a_process_of_its_own(server: Server) -> None:
    request = ExportTraceServiceRequest()
    for number in range(3):
        request.MergeFrom(request_of("many", f"span-{number}"))
        attributes = request.resource_spans[number].resource.attributes
        attributes.add(key="service.instance.id").value.string_value = f"i-{number % 2}"
    assert post(server, "traces", request.SerializeToString()).status == 200
    found = spans(server, "otel-many")
    assert found["span-0"]["proc"] == found["span-2"]["proc"] != found["span-1"]["proc"]
    verified = server.request("GET", "/api/v1/verify?run=otel-many").body
    assert (verified["clean"], verified["processes"]) == (True, 2)


def test_a_counter_goes_on_when_the_process_or_the_collector_is_started_again(tmp_path: Path) -> None:
    def told(start: int, at: int, value: float) -> bytes:
        request = ExportMetricsServiceRequest()
        group = request.resource_metrics.add()
        group.resource.attributes.add(key="service.name").value.string_value = "counting"
        metric = group.scope_metrics.add().metrics.add(name="tokens")
        metric.sum.aggregation_temporality, metric.sum.is_monotonic = 2, True
        metric.sum.data_points.add(start_time_unix_nano=TS + start, time_unix_nano=TS + at, as_double=value)
        return request.SerializeToString()

    with running_server(tmp_path / "data") as server:
        for start, at, value in ((1, 10, 100.0), (1, 20, 130.0), (1, 20, 130.0), (1, 15, 120.0), (30, 40, 5.0)):
            assert post(server, "metrics", told(start, at, value)).status == 200
        unanswered = request_of("counting", "span").SerializeToString()
        assert post(server, "traces", unanswered).status == 200
        server.kill()
        server.start()
        assert post(server, "traces", unanswered).status == 200  # as a client does who saw no answer
        # What was counted before is not counted again, and what was added while nobody listened is not lost.
        assert post(server, "metrics", told(30, 50, 8.0)).status == 200
        assert post(server, "metrics", told(30, 60, 18.0)).status == 200
        server.wait_stored()
        rows = server.query("SELECT value FROM point WHERE name = 'tokens' ORDER BY seq")
        assert [value for (value,) in rows] == [100.0, 30.0, 5.0, 3.0, 10.0]
        assert server.query("SELECT count(*) FROM span") == [[1]]
        assert server.query("SELECT count(*), count(DISTINCT proc) FROM process") == [[1, 1]]
        assert server.request("GET", "/api/v1/verify").body["clean"]


def test_no_room_on_the_disk_is_an_answer_to_try_again_after(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", settings={"min_free_bytes": 2**60}) as server:
        refused = post(server, "traces", request_of("full", "span").SerializeToString())
        assert (refused.status, refused.retry_after) == (503, "30")
        assert "no room" in Status.FromString(refused.body).message
        wait_until(lambda: server.request("GET", "/api/v1/status").body["otlp"]["last_error"])


def test_the_second_port_takes_otlp_and_the_token_is_asked_for_on_both(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"otlp_port": port, "token": "a-token-of-ours"}
    with running_server(tmp_path / "data", settings=settings) as server:
        server.token = "a-token-of-ours"
        body = request_of("second", "span").SerializeToString()
        first_port = server.port
        for number in (first_port, port):
            server.port = number
            refused = post(server, "traces", body)
            assert (refused.status, refused.kind) == (401, PROTOBUF)
            assert "token" in Status.FromString(refused.body).message
            assert post(server, "traces", body, Authorization="Bearer a-token-of-ours").status == 200
        server.port = first_port
        assert set(spans(server, "otel-second")) == {"span"}
        assert server.request("GET", "/api/v1/services").body["otlp_port"] == port


def test_logs_without_time_or_severity_are_kept(server: Server) -> None:
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    group.resource.attributes.add(key="service.name").value.string_value = "bare"
    group.scope_logs.add().log_records.add().body.string_value = "x" * 600
    assert post(server, "logs", request.SerializeToString()).status == 200
    server.wait_stored()
    ((name, level, ts, attrs),) = server.query("SELECT name, level, ts, attrs FROM log WHERE run = 'otel-bare'")
    assert (name, level) == ("x" * 512, "info")
    assert ts > TS
    assert json.loads(attrs) == {"message_rest": "x" * 88}
