"""Lines become rows: all of them, with every field, under their run, whatever the lines hold."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from machine import Machine
from rl_insight.collect import Chunk, Position
from rl_insight.schema import BadLine, Fact, Gauge, Line, Open, Process, Span, decode_lines, encode_lines
from rl_insight.store import Projection, Store

Mixed = Callable[..., list[Line]]
TABLE = {"count": "point", "gauge": "point", "sample": "point", "open": "open_span"}


def table_of(line: type[msgspec.Struct] | msgspec.Struct) -> str:
    tag = str(line.__struct_config__.tag)
    return TABLE.get(tag, tag)


@pytest.mark.parametrize("kind", get_args(Line), ids=lambda kind: kind.__name__)
def test_every_field_of_a_line_is_a_column(machine: Machine, kind: type[msgspec.Struct]) -> None:
    columns = {name for (name,) in machine.ask(f"SELECT column_name FROM (DESCRIBE {table_of(kind)})")}
    fields = {field.encode_name for field in msgspec.structs.fields(kind)} - {"v"}
    assert fields | {"run", "segment"} <= columns
    assert ("kind" in columns) == (table_of(kind) == "point")


def test_lines_of_every_kind_come_out_as_they_went_in(machine: Machine, mixed: Mixed) -> None:
    lines = mixed(80)
    machine.take(lines)
    found = {}
    for table in ("process", "span", "open_span", "point", "log", "fact", "lost"):
        for row in machine.store.rows(f"SELECT * FROM {table}").dicts():
            found[row["seq"]] = {key: value for key, value in row.items() if value is not None}
    assert len(found) == 80
    for line in lines:
        row = found[line.seq]
        assert row["run"] == "r"
        for field, value in msgspec.to_builtins(line).items():
            if field == "kind" and "kind" not in row:
                continue
            assert (json.loads(row[field]) if isinstance(value, dict) else row[field]) == value, field
    assert machine.ask("SELECT tag, value FROM fact_tag WHERE seq = 5 ORDER BY tag") == [
        ("session", "5"),
        ("task", "t0"),
    ]
    assert machine.ask("SELECT proc, seq, lines, first_ts, last_ts FROM mark") == [("p", 80, 80, 1001, 1080)]
    assert machine.ask("SELECT first_ts, last_ts FROM process") == [(1001, 1080)]
    assert machine.ask("SELECT * FROM hole") == machine.ask("SELECT * FROM unreadable") == []


def test_several_runs_lie_side_by_side(machine: Machine, mixed: Mixed) -> None:
    machine.take(mixed(40, "a", "one") + mixed(40, "b", "two") + mixed(24, "c", "two"))
    machine.take(mixed(40, "a", first=41, process=False))
    assert machine.ask("SELECT run, proc, count(*) FROM point GROUP BY ALL ORDER BY ALL") == [
        ("one", "a", 29), ("two", "b", 14), ("two", "c", 8),
    ]  # fmt: skip


def test_lines_that_come_before_their_process_get_its_run_when_it_comes(machine: Machine, mixed: Mixed) -> None:
    machine.take(mixed(40, "late", process=False) + mixed(40, "other", "another"))
    tables = ("span", "open_span", "point", "log", "fact", "fact_tag", "lost")
    for table in tables:
        assert machine.ask(f"SELECT DISTINCT run FROM {table} WHERE proc = 'late'") == [("unknown",)]
    machine.take(
        [
            Process(proc="late", seq=41, ts=1, name="process", run="r", schema="1.0"),
            *mixed(8, "late", first=42, process=False),
        ]
    )
    for table in tables:
        assert machine.ask(f"SELECT DISTINCT run FROM {table} WHERE proc = 'late'") == [("r",)]
        assert machine.ask(f"SELECT DISTINCT run FROM {table} WHERE proc = 'other'") == [("another",)]
    assert machine.ask("SELECT first_ts, last_ts FROM process WHERE proc = 'late'") == [(1, 1049)]


def test_a_process_line_later_in_the_same_chunk_is_in_time(machine: Machine, mixed: Mixed) -> None:
    line = Process(proc="p", seq=9, ts=9, name="process", run="r", schema="1.0")
    machine.take([*mixed(8, process=False), line])
    assert machine.ask("SELECT DISTINCT run FROM point") == [("r",)]


def test_a_heartbeat_replaces_what_the_last_one_said_but_never_the_run(machine: Machine) -> None:
    def beat(seq: int, **more: Any) -> Process:
        return Process(proc="p", seq=seq, ts=seq, name="process", schema="1.0", **more)

    machine.take([beat(1, run="r", role="actor"), beat(2, run="r", role="learner", rank=1)])
    machine.take([beat(3, run="elsewhere", rank=2), beat(4, run="elsewhere", state="finished", aliases={"a": "b"})])
    machine.take([Gauge(proc="p", seq=5, ts=50, name="n", value=1.0)])
    assert machine.ask("SELECT run, seq, role, rank, state, aliases, first_ts, last_ts FROM process") == [
        ("r", 4, None, None, "finished", '{"a":"b"}', 1, 50)
    ]
    assert machine.ask("SELECT run FROM point") == [("r",)]


def test_holes_are_recorded(machine: Machine) -> None:
    def gauges(proc: str, *seqs: int) -> list[Line]:
        return [Gauge(proc=proc, seq=seq, ts=seq, name="n", value=1.0) for seq in seqs]

    machine.take(gauges("whole", 1, 2, 3) + gauges("p", 3, 4, 7))
    machine.take(gauges("whole", 4, 5) + gauges("p", 8, 9))
    machine.take(gauges("p", 12) + gauges("q", 2))
    assert machine.ask("SELECT proc, from_seq, to_seq FROM hole ORDER BY ALL") == [
        ("p", 1, 2), ("p", 5, 6), ("p", 10, 11), ("q", 1, 1),
    ]  # fmt: skip


def test_an_open_interval_goes_when_its_span_comes(machine: Machine) -> None:
    def still_open(seq: int, id: str, proc: str = "p") -> Open:
        return Open(proc=proc, seq=seq, ts=seq, name="turn", id=id)

    def ended(seq: int, id: str | None) -> Span:
        return Span(proc="p", seq=seq, ts=seq, name="turn", id=id, dur=1)

    machine.take([still_open(1, "a"), still_open(2, "b"), still_open(3, "a"), still_open(1, "a", "q")])
    assert machine.ask("SELECT proc, id, seq FROM open_span ORDER BY ALL") == [
        ("p", "a", 3),
        ("p", "b", 2),
        ("q", "a", 1),
    ]
    machine.take([still_open(4, "b"), still_open(5, "c"), ended(6, "c"), ended(7, None)])
    assert machine.ask("SELECT proc, id, seq FROM open_span ORDER BY ALL") == [
        ("p", "a", 3),
        ("p", "b", 4),
        ("q", "a", 1),
    ]
    machine.take([ended(8, "a")])
    assert machine.ask("SELECT proc, id FROM open_span ORDER BY ALL") == [("p", "b"), ("q", "a")]
    machine.close()
    machine.open()
    machine.take([Process(proc="p", seq=9, ts=9, name="process", run="r", schema="1.0", state="finished")])
    assert machine.ask("SELECT proc, id FROM open_span") == [("q", "a")]


# -- whatever is accepted is projected

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NASTY = st.sampled_from(
    ["\0", "a\0b", "'; DROP", '"', "\\", "$.x", "💥", "\u2028", "\ufeff", "\x7f", "﷽", "NaN", "null"]
)
SOME = st.one_of(TEXT, NASTY)
INTS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 2**53 + 1, 2**63 - 1, -(2**63)]))
ANY = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(10**40), 10**40), st.floats(allow_nan=False, allow_infinity=False), SOME
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(SOME, inner, max_size=3)),
    max_leaves=10,
)
ATTRS = st.dictionaries(SOME, ANY, max_size=4)
LABELS = st.dictionaries(SOME, SOME, max_size=3)
OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "labels": LABELS, "tags": LABELS, "aliases": LABELS, "versions": LABELS, "attrs": ATTRS, "step": INTS, "rank": INTS,
    "pid": INTS, "task": SOME, "session": SOME, "id": SOME, "parent": SOME, "trace": SOME, "lane": SOME, "reason": SOME,
    "op": SOME, "try": st.integers(0, 2**63 - 1), "peer": SOME, "logger": SOME, "project": SOME, "experiment": SOME,
    "status": st.sampled_from(["ok", "error"]), "outcome": st.sampled_from(["ok", "timeout"]),
    "state": st.sampled_from(["running", "finished"]), "clock_offset": INTS,
    # Fields that this kind or this version does not know, some of them known elsewhere with another type.
    "dur": ANY, "count": ANY, "level": ANY, "value": ANY, "future": ANY, "Kind": ANY, "SEQ": ANY, "part": ANY,
}  # fmt: skip
NEEDED: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "process": {"run": SOME.filter(bool), "schema": st.just("1.7")},
    "gauge": {"value": st.one_of(st.floats(allow_nan=False, allow_infinity=False), INTS, st.integers(0, 10**300))},
    "count": {"value": st.integers(0, 10**30)},
    "sample": {"value": st.floats(allow_nan=False, allow_infinity=False)},
    "span": {"dur": st.integers(0, 2**63 - 1)},
    "open": {"id": SOME},
    "log": {"level": SOME.filter(bool)},
    "fact": {},
    "lost": {"count": st.integers(1, 2**63 - 1), "reason": SOME},
}


@st.composite
def raw_lines(draw: st.DrawFn) -> list[bytes]:
    """Lines as other people's encoders might write them; not all of them are accepted."""
    raw = []
    for seq in range(1, draw(st.integers(1, 6)) + 1):
        kind = draw(st.sampled_from(sorted(NEEDED)))
        fields: list[tuple[str, Any]] = [("kind", kind), ("proc", "p"), ("seq", seq)]
        fields += [("ts", draw(st.integers(0, 2**63 - 1))), ("name", draw(SOME.filter(bool)))]
        fields += [(name, draw(value)) for name, value in NEEDED[kind].items()]
        for name in draw(st.lists(st.sampled_from(sorted(OPTIONAL)), max_size=5)):
            fields.append((name, draw(OPTIONAL[name])))
        fields = draw(st.permutations(fields))
        ascii_only = draw(st.booleans())
        space = draw(st.sampled_from(["", " "]))
        parts = [
            f"{json.dumps(k, ensure_ascii=ascii_only)}{space}:{space}{json.dumps(v, ensure_ascii=ascii_only)}"
            for k, v in fields
        ]
        raw.append(("{" + space + f",{space}".join(parts) + space + "}").encode() + b"\n")
    return raw


BASE = b'"kind":"gauge","proc":"p","seq":1,"ts":1,"name":"n","value":1'


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("data"))
    yield store
    store.close()


@given(raw_lines())
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@example([b"{" + BASE + b',"seq":1}\n'])
@example([b"{" + BASE + b',"labels":{"a":"b","a":"c"}}\n'])
@example([b"{" + BASE + b',"future":"\xff\xfe"}\n'])
@example([b"{" + BASE + b',"future":1e999}\n'])
@example([b"{" + BASE + b',"attrs":' + b"[" * 900 + b"]" * 900 + b"}\n"])
@example(
    [
        b'{"kind":"log","proc":"p","seq":1,"ts":1,"name":"n","level":"i","attrs":{"x":'
        + b"[" * 400
        + b"]" * 400
        + b"}}\n"
    ]
)
@example([b'{"kind":"fact","proc":"p","seq":1,"ts":1,"name":"n","tags":{"\\u0000":"\\u0000","a":"1","a":"2"}}\n'])
@example([b'{"kind":"\\u0070rocess","proc":"p","seq":1,"ts":1,"name":"n","run":"r","schema":"1.0"}\n'])
@example([b'{"kind":"fact","proc":"p","seq":1,"ts":1,"name":"n","tags":{}}\n'])
def test_whatever_the_collector_accepts_the_store_takes(empty_store: Store, raw: list[bytes]) -> None:
    body = b"".join(raw)
    try:
        lines = decode_lines(body)
    except BadLine:
        return
    cursor = empty_store.cursor()
    for (table,) in cursor.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT temporary AND table_name <> 'meta'"
    ).fetchall():
        cursor.execute(f"DELETE FROM {table}")
    cursor.close()
    projection = Projection(empty_store)
    result = projection.project(Chunk(body, Position(1, 0), Position(1, len(body))))
    projection.close()
    assert result.lines == len(lines)
    assert result.unreadable == 0
    assert empty_store.position() == Position(1, len(body))
    for line in lines:
        if isinstance(line, (Process, Open)):
            continue  # the latest of each only
        table = table_of(line)
        (row,) = empty_store.rows(f"SELECT * FROM {table} WHERE seq = {line.seq}").dicts()
        assert row["name"] == line.name
        assert row["ts"] == line.ts
        if isinstance(line, Gauge):
            assert row["value"] == line.value
        if isinstance(line, Fact):
            tags = empty_store.rows(f"SELECT tag, value FROM fact_tag WHERE seq = {line.seq}").rows
            assert {tag for tag, _ in tags} == set(line.tags or {})
    processes = [line for line in lines if isinstance(line, Process)]
    assert empty_store.rows("SELECT run, state FROM process").rows == (
        [(processes[0].run, processes[-1].state)] if processes else []
    )


def test_lines_that_are_none_are_set_aside_and_the_rest_goes_on(tmp_path: Path, mixed: Mixed) -> None:
    raw = [encode_lines([line]) for line in mixed(100)]
    rubbish = {10: b"rubbish\n", 11: b"\0\0\0\n", 60: b'{"kind":"gauge"}\n', 99: b'{"kind":"nonsense","proc":"p"}\n'}
    for number, data in rubbish.items():
        raw.insert(number, data)
    body = b"".join(raw)
    store = Store.open(tmp_path)
    projection = Projection(store)
    assert projection.project(Chunk(body, Position(1, 0), Position(1, len(body)))) == (100, 4)
    rows = store.rows('SELECT line, "offset", error FROM unreadable ORDER BY "offset"').rows
    assert [bytes(line) for line, _, _ in rows] == list(rubbish.values())
    assert all(body[offset:].startswith(bytes(line)) and error for line, offset, error in rows)
    assert store.rows("SELECT lines FROM mark").rows == [(100,)]
    assert store.position() == Position(1, len(body))
    projection.close()
    store.close()


def test_a_line_of_the_largest_size_a_body_may_have_is_projected(machine: Machine) -> None:
    text = "x" * (20 * 2**20)
    machine.take([Span(proc="p", seq=1, ts=1, name="big", dur=1, attrs={"text": text})])
    assert machine.ask("SELECT length(attrs ->> 'text') FROM span") == [(len(text),)]


def test_chunks_leave_nothing_behind_on_disk(machine: Machine, mixed: Mixed) -> None:
    machine.take(mixed(50))
    assert [path for path in (machine.data_dir / "tmp").rglob("*") if path.is_file()] == []
