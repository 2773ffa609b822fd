"""The mapping between lines and OTLP loses nothing, whatever a line says, and is written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_lines import odd_lines
from rl_insight.collect.otlp import wire
from rl_insight.collect.otlp.metrics import our_points
from rl_insight.collect.otlp.spans import our_record, our_span
from rl_insight.export.otlp.encode import SIGNALS, Encoder
from rl_insight.schema import Count, Fact, Gauge, Line, Log, Lost, Sample, Span, conventions, decode_lines

ROOT = Path(__file__).parent.parent.parent

INT64 = st.integers(-(2**63), 2**63 - 1)
# No text in a line holds half a character: it was JSON before.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SOME = st.one_of(st.none(), TEXT)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), INT64, NUMBERS, TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=8,
)
KEYS = st.one_of(
    TEXT, st.sampled_from(["rl.step", "rl.added", "rl.attr.rl.seq", "tokens", "reward", "gen_ai.tool.name"])
)
# An empty mapping and none at all are the same to a table.
ATTRS = st.one_of(st.none(), st.dictionaries(KEYS, JSON, min_size=1, max_size=4))
LABELS = st.one_of(st.none(), st.dictionaries(TEXT, TEXT, min_size=1, max_size=3))
IDS = st.one_of(st.none(), st.sampled_from(["0" * 16, "00f067aa0ba902b7", "A" * 16, "x"]), TEXT)
TRACES = st.one_of(st.none(), st.sampled_from(["0" * 32, "4bf92f3577b34da6a3ce929d0e0e4736"]), TEXT)
STATUS = st.sampled_from([None, "ok", "error", "timeout", "cancelled"])
PARTS = st.sampled_from([None, "state", "task", "session", "turn", "phase"])
STEPS = st.one_of(st.none(), INT64)
TIMES = st.integers(0, 2**62)
PLACE = {"task": SOME, "session": SOME, "step": STEPS}
LINES: st.SearchStrategy[Line] = st.one_of(
    st.builds(
        Span, st.just("p"), st.integers(1, 2**62), TIMES, NAMES, TIMES, id=IDS, parent=IDS, trace=TRACES, lane=SOME,
        status=STATUS, reason=SOME, part=PARTS, attrs=ATTRS, **PLACE,
    ),
    st.builds(
        Log, st.just("p"), st.integers(1, 2**62), TIMES, NAMES, st.text(min_size=1, max_size=5, alphabet="abcXYZ"),
        logger=SOME, trace=TRACES, parent=IDS, attrs=ATTRS, **PLACE,
    ),
    st.builds(
        Fact, st.just("p"), st.integers(1, 2**62), TIMES, NAMES, tags=LABELS, op=SOME,
        attempt=st.one_of(st.none(), TIMES), peer=SOME, outcome=STATUS, reason=SOME, trace=TRACES, parent=IDS,
        attrs=ATTRS, **PLACE,
    ),
    st.builds(Lost, st.just("p"), st.integers(1, 2**62), TIMES, NAMES, st.integers(1, 2**62), NAMES),
    *(
        st.builds(kind, st.just("p"), st.integers(1, 2**62), TIMES, NAMES, NUMBERS, labels=LABELS, **PLACE)
        for kind in (Count, Gauge, Sample)
    ),
)  # fmt: skip


def there_and_back(lines: list[Line]) -> list[Line]:
    """Lines through protobuf bytes and back."""
    encoder = Encoder(lambda proc: {})
    found: list[tuple[int | None, Line]] = []
    for signal, kinds in SIGNALS.items():
        body = encoder.request(signal, [line for line in lines if type(line) in kinds]).SerializeToString()
        message = wire.read(signal, body, as_json=False)
        found += list(_lines(signal, message))
    for seq, line in found:
        assert seq is not None
        line.proc, line.seq = "p", seq
    return sorted((line for _, line in found), key=lambda line: line.seq)


def _lines(signal: str, message: Any) -> list[tuple[int | None, Line]]:
    if signal == "traces":
        return [our_span(one) for group in message.resource_spans for s in group.scope_spans for one in s.spans]
    if signal == "logs":
        groups = [scope for group in message.resource_logs for scope in group.scope_logs]
        return [our_record(one)[:2] for scope in groups for one in scope.log_records]
    scopes = [scope for group in message.resource_metrics for scope in group.scope_metrics]
    return [pair for scope in scopes for metric in scope.metrics for pair in our_points(metric)]


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, max_size=6, unique_by=lambda line: line.seq))
def test_any_line_comes_back_as_it_was(lines: list[Line]) -> None:
    ends = [line for line in lines if not isinstance(line, Span) or line.ts + line.dur < 2**63]
    was = msgspec.to_builtins(sorted(ends, key=lambda line: line.seq))
    assert msgspec.to_builtins(there_and_back(ends)) == was


def test_the_odd_lines_come_back_as_they_were() -> None:
    lines = [line for line in decode_lines(odd_lines()) if type(line).__name__ != "Process"]
    for line in lines:
        line.proc = "p"
    assert msgspec.to_builtins(there_and_back(lines)) == msgspec.to_builtins(lines)


def test_the_table_in_the_documents_is_the_one_in_force() -> None:
    page = (ROOT / "docs" / "otlp.md").read_text()
    assert conventions.table() in page
    assert f"version {conventions.VERSION}" in page
