"""Spans and log records of OTLP become lines. Without `proc` and `seq`, which the receiver gives out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rl_insight.collect.otlp import wire
from rl_insight.collect.otlp.cleaning import MAX_NAME, Cleaner, Reject, Taken, adopt, stamp, take
from rl_insight.schema import Fact, Line, Log, Lost, Process, Span, Status
from rl_insight.schema import conventions as names

_STATUS: dict[int, Status] = {1: "ok", 2: "error"}
PROCESS_EVENT = "rl.process"
LOST_EVENT = "rl.lost"


def our_span(span: Any) -> tuple[int | None, Line]:
    """A span that our exporter wrote, as the line it was; with the number it had."""
    taken = take(wire.attributes(span.attributes))
    fields = taken.fields
    start = stamp(span.start_time_unix_nano)
    return taken.seq, Span(
        "-",
        1,
        start,
        _named(span.name),
        _length(start, span.end_time_unix_nano),
        fields["id"] if "id" in fields else _id(span.span_id, "id" in taken.made),
        fields["parent"] if "parent" in fields else _id(span.parent_span_id),
        fields["trace"] if "trace" in fields else _id(span.trace_id, "trace" in taken.made),
        fields.get("lane"),
        fields.get("task"),
        fields.get("session"),
        fields.get("step"),
        fields.get("status") or _STATUS.get(span.status.code),
        fields.get("reason", span.status.message or None),
        fields.get("part"),
        taken.attrs or None,
    )


def their_span(span: Any, scope: dict[str, Any], cleaner: Cleaner) -> Iterator[Line]:
    """A span of anybody's, followed by a log line for each of its events."""
    trace, identity = _checked_id(span.trace_id, 16, "trace_id"), _checked_id(span.span_id, 8, "span_id")
    parent = _checked_id(span.parent_span_id, 8, "parent_span_id") if wire.hex_of(span.parent_span_id) else None
    start = stamp(span.start_time_unix_nano or span.end_time_unix_nano)
    if not start:
        raise Reject("a span without a start and an end")
    taken = take(wire.attributes(span.attributes))
    adopt(taken)
    fields, attrs = taken.fields, {**taken.attrs, **scope}
    if span.kind > 1:
        attrs[names.SPAN_KIND] = names.SPAN_KINDS[span.kind] if span.kind < len(names.SPAN_KINDS) else str(span.kind)
    if span.trace_state:
        attrs[names.TRACE_STATE] = span.trace_state
    if span.links:
        attrs[names.LINKS] = [_link(link) for link in span.links]
    events = [_event(event) for event in span.events]
    status = fields.get("status") or _STATUS.get(span.status.code)
    reason = fields.get("reason") or span.status.message
    if status not in (None, "ok") and not reason:
        reason = next((message for _, message, attrs in events if names.EVENT in attrs), None)
    place: dict[str, Any] = {
        "task": cleaner.optional(fields.get("task")),
        "session": cleaner.optional(fields.get("session")),
        "step": fields.get("step"),
    }
    lane = cleaner.optional(fields.get("lane"))
    part = fields.get("part")
    yield Span(
        "-",
        1,
        start,
        cleaner.name(span.name),
        _length(start, span.end_time_unix_nano),
        id=identity,
        parent=parent,
        trace=trace,
        lane=lane,
        status=status,
        reason=cleaner.optional(reason),
        part=None if part == "state" and (lane is None or parent is not None) else part,
        attrs=cleaner.attrs(attrs),
        **place,
    )
    for at, message, said in events:
        level = "error" if said.get(names.EVENT) == "exception" else "info"
        yield _log(cleaner, at or start, message, level, said, {"trace": trace, "parent": identity, **place})


def our_record(record: Any) -> tuple[int | None, Line, dict[str, Any] | None]:
    """A log record that our exporter wrote, as the line it was, and what a process line says of its process."""
    taken = take(wire.attributes(record.attributes))
    fields, attrs = taken.fields, taken.attrs
    ts = stamp(record.time_unix_nano)
    body = wire.plain(record.body)
    name = _named(body if isinstance(body, str) else "")
    place: dict[str, Any] = {
        "trace": fields["trace"] if "trace" in fields else _id(record.trace_id),
        "parent": fields["parent"] if "parent" in fields else _id(record.span_id),
        "task": fields.get("task"),
        "session": fields.get("session"),
        "step": fields.get("step"),
        "attrs": attrs or None,
    }
    if taken.kind == "fact":
        keys: dict[str, Any] = {"op": fields.get("op"), "attempt": fields.get("try"), "peer": fields.get("peer")}
        keys |= {"outcome": fields.get("outcome"), "reason": fields.get("reason")}
        return taken.seq, Fact("-", 1, ts, name, tags=taken.tags or None, **keys, **place), None
    if taken.kind == "lost":
        return taken.seq, Lost("-", 1, ts, name, max(1, fields.get("count", 1)), fields.get("reason") or "?"), None
    if taken.kind == "process":
        return taken.seq, Process("-", 1, ts, name, run="-", schema="1.0"), _of_process(attrs)
    level = (record.severity_text or names.level(record.severity_number, ""))[:32]
    return taken.seq, Log("-", 1, ts, name, level, fields.get("logger"), **place), None


def their_record(record: Any, scope: dict[str, Any], cleaner: Cleaner, now: int) -> Line:
    """A log record of anybody's; one that says `rl.kind` fact becomes a fact."""
    ts = stamp(record.time_unix_nano or record.observed_time_unix_nano or now)
    taken = take(wire.attributes(record.attributes))
    adopt(taken)
    fields = taken.fields
    trace = _checked_id(record.trace_id, 16, "trace_id") if wire.hex_of(record.trace_id) else None
    parent = _checked_id(record.span_id, 8, "span_id") if wire.hex_of(record.span_id) else None
    place: dict[str, Any] = {
        "trace": trace,
        "parent": parent,
        "task": cleaner.optional(fields.get("task")),
        "session": cleaner.optional(fields.get("session")),
        "step": fields.get("step"),
    }
    body = wire.plain(record.body)
    if taken.kind == "fact" and (record.event_name or isinstance(body, str)):
        return _fact(taken, record.event_name or body, ts, place, cleaner)
    attrs = dict(taken.attrs)
    if record.event_name:
        attrs[names.EVENT] = record.event_name
    if isinstance(body, str):
        message = body
    else:
        message = record.event_name or ("" if body is None else _compact(cleaner.attrs({"body": body})))
        if body is not None:
            attrs["body"] = body
    attrs |= {key: value for key, value in scope.items() if key != names.SCOPE_NAME}
    line = _log(cleaner, ts, message, names.level(record.severity_number, record.severity_text), attrs, place)
    line.logger = cleaner.optional(fields.get("logger") or scope.get(names.SCOPE_NAME))
    return line


def _of_process(attrs: dict[str, Any]) -> dict[str, Any]:
    state, offset, more = (attrs.get(row.attribute) for row in names.PROCESS)
    return {
        "state": state if state == "finished" else "running",
        "clock_offset": offset if type(offset) is int else None,
        "attrs": more if isinstance(more, dict) else None,
    }


def _fact(taken: Taken, name: str, ts: int, place: dict[str, Any], cleaner: Cleaner) -> Fact:
    fields = taken.fields
    return Fact(
        "-",
        1,
        ts,
        cleaner.name(name),
        tags=cleaner.labels(taken.tags),
        op=cleaner.optional(fields.get("op")),
        attempt=fields.get("try"),
        peer=cleaner.optional(fields.get("peer")),
        outcome=fields.get("outcome"),
        reason=cleaner.optional(fields.get("reason")),
        attrs=cleaner.attrs(taken.attrs),
        **place,
    )


def _log(cleaner: Cleaner, ts: int, message: str, level: str, attrs: dict[str, Any], place: dict[str, Any]) -> Log:
    message = cleaner.string(message)
    if len(message) > MAX_NAME:
        attrs = {**attrs, "message_rest": message[MAX_NAME:]}
    return Log("-", 1, ts, message[:MAX_NAME] or "(empty message)", level, attrs=cleaner.attrs(attrs), **place)


def _event(event: Any) -> tuple[int, str, dict[str, Any]]:
    attrs = wire.attributes(event.attributes)
    if event.name == "exception":
        # The message is an error's, not a prompt; as the text of the line it is searched for secrets all the same.
        words = [str(attrs.get("exception.type") or ""), str(attrs.pop("exception.message", None) or "")]
        return (
            stamp(event.time_unix_nano),
            ": ".join(filter(None, words)) or "exception",
            {**attrs, names.EVENT: "exception"},
        )
    return stamp(event.time_unix_nano), event.name or "event", attrs


def _link(link: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"trace": wire.hex_of(link.trace_id), "id": wire.hex_of(link.span_id)}
    if link.attributes:
        said["attrs"] = wire.attributes(link.attributes)
    return said


def _compact(value: Any) -> str:
    return msgspec.json.encode(value["body"]).decode()[: 2 * MAX_NAME] if value else ""


def _named(name: str) -> str:
    return name[:MAX_NAME] or "unnamed"


def _id(identity: bytes | str, made: bool = False) -> str | None:
    return None if made else wire.hex_of(identity) or None


def _checked_id(identity: bytes | str, size: int, what: str) -> str:
    try:
        text = wire.hex_of(identity)
    except ValueError:
        raise Reject(f"{what} is not hexadecimal") from None
    if len(text) != 2 * size:
        raise Reject(f"{what} must be {size} bytes, not all zero")
    return text


def _length(start: int, end: int) -> int:
    return max(0, stamp(end) - start) if end else 0
