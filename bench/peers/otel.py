"""OpenTelemetry's SDK: spans through a batch processor, exported nowhere, and encoded as OTLP for the CPU row."""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import NoOpTracerProvider

from bench.timing import time_calls


class Nowhere(SpanExporter):
    """Takes spans and, when asked to, encodes them for the wire; sends nothing."""

    def __init__(self, encode: bool) -> None:
        self.encode = encode
        self.taken = 0

    def export(self, spans: list[ReadableSpan]) -> SpanExportResult:
        self.taken += len(spans)
        if self.encode:
            encode_spans(spans).SerializeToString()
        return SpanExportResult.SUCCESS


def provider(encode: bool = False) -> tuple[TracerProvider, Nowhere]:
    exporter = Nowhere(encode)
    made = TracerProvider()
    made.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=1_000_000))
    return made, exporter


def main() -> None:
    quick = sys.argv[1] == "quick"
    tracing, _ = provider()
    tracer = tracing.get_tracer("bench")
    disabled = NoOpTracerProvider().get_tracer("bench")
    meter = MeterProvider(metric_readers=[InMemoryMetricReader()]).get_meter("bench")
    gauge, counter, histogram = meter.create_gauge("loss"), meter.create_counter("steps"), meter.create_histogram("s")

    def span(calls: int) -> None:
        for _ in range(calls):
            with tracer.start_as_current_span("generate"):
                pass

    def nested_span(calls: int) -> None:
        with tracer.start_as_current_span("outer"):
            span(calls)

    def span_with_attributes(calls: int) -> None:
        for _ in range(calls):
            with tracer.start_as_current_span("generate", attributes={"tokens": 512, "engine": "engine-0"}):
                pass

    def disabled_span(calls: int) -> None:
        for _ in range(calls):
            with disabled.start_as_current_span("generate"):
                pass

    def set_gauge(calls: int) -> None:
        for _ in range(calls):
            gauge.set(0.25)

    def labelled(calls: int) -> None:
        for _ in range(calls):
            gauge.set(0.25, {"worker": "trainer-0"})

    def count(calls: int) -> None:
        for _ in range(calls):
            counter.add(1)

    def sample(calls: int) -> None:
        for _ in range(calls):
            histogram.record(0.25)

    rows = {
        name: timing.value
        for name, timing in time_calls(
            {
                "span": span,
                "nested span": nested_span,
                "span with attributes": span_with_attributes,
                "disabled span": disabled_span,
                "gauge": set_gauge,
                "gauge with a label": labelled,
                "count": count,
                "sample": sample,
            },
            repeats=2 if quick else 9,
            blocks=2 if quick else 25,
            calls=100 if quick else 2000,
        ).items()
    }
    tracing.shutdown()
    rows["producer CPU, spans"] = encoded_cpu(1000 if quick else 40_000)
    print(
        json.dumps(
            {
                "about": f"opentelemetry-sdk {version('opentelemetry-sdk')}; spans to a BatchSpanProcessor; "
                "the CPU row encodes OTLP and sends nothing; metrics aggregate in place",
                "rows": rows,
            }
        )
    )


def encoded_cpu(spans: int) -> float:
    """µs of CPU a span: started, ended, batched and encoded."""
    tracing, exporter = provider(encode=True)
    tracer = tracing.get_tracer("bench")
    start = time.process_time()
    for _ in range(spans):
        with tracer.start_as_current_span("generate"):
            pass
    tracing.force_flush()
    taken = time.process_time() - start
    tracing.shutdown()
    if exporter.taken != spans:
        raise SystemExit(f"{exporter.taken} spans of {spans} came through")
    return taken / spans * 1e6


if __name__ == "__main__":
    main()
