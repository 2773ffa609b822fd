"""Records become lines here: cleaned, redacted, numbered. Runs in the sender's thread, never in a caller's."""

from collections.abc import Callable
from typing import Any

from rl_insight.record.identity import Identity
from rl_insight.record.recorder import Recorder, hex_id
from rl_insight.record.redaction import Redactor
from rl_insight.record.spans import Span
from rl_insight.record.values import text
from rl_insight.schema import SCHEMA_VERSION, Count, Fact, Gauge, Line, Log, Lost, Open, Process, Sample
from rl_insight.schema import Span as SpanLine

_MAX_NAME = 512
_REMEMBERED = 20_000


class Composer:
    """Makes the lines of one process, in order, numbered without a hole."""

    def __init__(self, recorder: Recorder, identity: Identity, redactor: Redactor, heartbeat: float) -> None:
        self.identity = identity
        self.seq = 0
        self.clock_offset: int | None = None
        self._recorder = recorder
        self._redactor = redactor
        self._heartbeat = heartbeat
        self._names: dict[str, str] = {}
        self._kinds: dict[str, type] = {}
        self._label_sets: dict[tuple[tuple[str, Any], ...], dict[str, str]] = {}
        self._compose: dict[Any, Callable[[int, Any], Line]] = {
            Count: self._point,
            Gauge: self._point,
            Sample: self._point,
            Fact: self._fact,
            Log: self._log,
        }

    def lines(self, records: list[Any]) -> list[Line]:
        """Make the lines of some records; one that cannot be a line becomes a `lost` line, so no number is skipped."""
        made: list[Line] = []
        seq = self.seq
        compose = self._compose
        span = self._span
        for record in records:
            seq += 1
            try:
                made.append(span(seq, record) if record.__class__ is Span else compose[record[0]](seq, record))
            except Exception as error:  # a caller's object may do anything; training goes on
                made.append(self._unmade(seq, record, error))
        self.seq = seq
        return made

    def open_lines(self, spans: list[Span]) -> list[Line]:
        """Announce intervals that are still running."""
        made: list[Line] = []
        for span in spans:
            attrs = span.attrs
            self.seq += 1
            made.append(
                Open(
                    self.identity.proc,
                    self.seq,
                    self._stamp(span.start),
                    self._name(span.name),
                    hex_id(span.id),
                    None if span.parent is None or span.state else hex_id(span.parent),
                    self._recorder.hex_trace(span.trace or span.id),
                    span.lane,
                    span.task,
                    span.session,
                    span.step,
                    span.part,
                    self._redactor.attrs(attrs) if attrs else None,
                )
            )
        return made

    def process(self, state: Any = "running", attrs: dict[str, Any] | None = None) -> Process:
        """Who we are: the first line, the heartbeat, and the last line."""
        self.seq += 1
        me = self.identity
        return Process(
            me.proc,
            self.seq,
            self._recorder.now(),
            "process",
            run=me.run,
            schema=SCHEMA_VERSION,
            project=me.project,
            experiment=me.experiment,
            role=me.role,
            rank=me.rank,
            node=me.node,
            host=me.host,
            pid=me.pid,
            parent=me.parent,
            started=me.started,
            heartbeat=self._heartbeat,
            state=state,
            clock_offset=self.clock_offset,
            versions=me.versions,
            config_hash=me.config_hash,
            labels=me.labels or None,
            aliases=me.aliases or None,
            attrs=attrs,
        )

    def lost(self, count: int, reason: str) -> Lost:
        """Say exactly how much was dropped, and why."""
        self.seq += 1
        return Lost(self.identity.proc, self.seq, self._recorder.now(), "lines", count, reason)

    def _point(self, seq: int, record: Any) -> Line:
        kind, stamp, name, value, labels, step, scope = record
        name = self._names.get(name) or self._name(name)
        if value - value != 0.0:  # NaN or infinite: JSON has no such number, but somebody must hear of it
            self._recorder.problem("not_finite", f"metric {name!r} was {value}; recorded as a warning in the log")
            return self._warning(seq, record, "metric is not finite")
        if kind is Count and value < 0:
            self._recorder.problem("negative_count", f"counter {name!r} moved by {value}; use a gauge for that")
            return self._warning(seq, record, "counter cannot go down")
        known = self._kinds.get(name)
        if known is not kind:
            self._note_kind(name, kind, known)
        return kind(  # type: ignore[no-any-return]
            self.identity.proc,
            seq,
            self._stamp(stamp),
            name,
            value,
            self._labels(labels) if labels else None,
            step,
            None if scope is None else scope.task,
            None if scope is None else scope.session,
        )

    def _span(self, seq: int, span: Span) -> Line:
        recorder, name, attrs = self._recorder, span.name, span.attrs
        identity = hex_id(span.id)
        stamp = recorder.base + span.start
        return SpanLine(
            self.identity.proc,
            seq,
            stamp if stamp > 0 else 0,
            self._names.get(name) or self._name(name),
            span.end - span.start,
            identity,
            None if span.parent is None or span.state else hex_id(span.parent),
            recorder.hex_trace(span.trace) if span.trace else recorder.trace_high + identity,
            span.lane,
            span.task,
            span.session,
            span.step,
            span.status,
            None if span.reason is None else self._redactor.string(span.reason),
            span.part,
            self._redactor.attrs(attrs) if attrs else None,
        )

    def _fact(self, seq: int, record: Any) -> Line:
        _, stamp, name, tags, op, attempt, peer, outcome, reason, attrs, step, scope = record
        return Fact(
            self.identity.proc,
            seq,
            self._stamp(stamp),
            self._names.get(name) or self._name(name),
            self._labels(tags) if tags else None,
            self._text(op),
            attempt if attempt.__class__ is int and attempt >= 0 else None,
            self._text(peer),
            outcome,
            None if reason is None else self._redactor.string(text(reason)),
            *self._place(scope),
            step,
            self._redactor.attrs(attrs) if attrs else None,
        )

    def _log(self, seq: int, record: Any) -> Line:
        _, stamp, message, level, logger, attrs, step, scope = record
        return Log(
            self.identity.proc,
            seq,
            self._stamp(stamp),
            self._redactor.string(message)[:_MAX_NAME] or "(empty message)",
            level[:32],
            logger,
            *self._place(scope),
            step,
            self._redactor.attrs({**attrs, "message_rest": message[_MAX_NAME:]} if len(message) > _MAX_NAME else attrs)
            if attrs or len(message) > _MAX_NAME
            else None,
        )

    def _place(self, scope: Any) -> tuple[str | None, str | None, str | None, str | None]:
        if scope is None:
            return None, None, None, None
        parent = scope.parent if scope.state else scope.id
        return (
            self._recorder.hex_trace(scope.trace or scope.id),
            None if parent is None else hex_id(parent),
            scope.task,
            scope.session,
        )

    def _stamp(self, stamp: int) -> int:
        return max(0, self._recorder.base + stamp)

    def _labels(self, labels: dict[str, Any]) -> dict[str, str]:
        # The same few label sets come again and again: cleaned once, remembered by their items.
        items = tuple(labels.items())
        try:
            known = self._label_sets.get(items)
        except TypeError:  # a list or a mapping among the values
            known = None
        if known is None:
            cleaned = self._redactor.attrs(labels)
            known = {text(key): text(value) for key, value in cleaned.items()}
            if len(self._label_sets) >= _REMEMBERED:
                self._label_sets.clear()
            # True, 1 and 1.0 are equal as keys, and different as texts.
            if all(value.__class__ is str for value in labels.values()):
                self._label_sets[items] = known
        return known

    def _text(self, value: Any) -> str | None:
        return value if value is None or value.__class__ is str else text(value)

    def _name(self, given: Any) -> str:
        known = self._names.get(given) if given.__class__ is str else None
        if known is not None:
            return known
        name = given if given.__class__ is str else text(given)
        kept = "".join(letter if letter.isprintable() else " " for letter in name).strip()[:_MAX_NAME]
        if kept != given or not kept:
            self._recorder.problem("bad_name", f"the name {str(given)[:80]!r} was recorded as {kept or 'unnamed'!r}")
        kept = kept or "unnamed"
        if len(self._names) < _REMEMBERED and given.__class__ is str:
            self._names[given] = kept
        return kept

    def _note_kind(self, name: str, kind: type, known: type | None) -> None:
        if known is None:
            if len(self._kinds) < _REMEMBERED:
                self._kinds[name] = kind
            return
        self._recorder.problem(
            "type_conflict",
            f"metric {name!r} is recorded as {kind.__name__.lower()} and as {known.__name__.lower()}; both are kept",
        )

    def _warning(self, seq: int, record: Any, message: str) -> Line:
        """A log line in place of a point that cannot be one: the page shows it, and no number is skipped."""
        _, stamp, name, value, labels, step, scope = record
        attrs = {"metric": text(name), "value": str(value), **labels}
        return self._log(seq, (Log, stamp, message, "warning", "rl_insight", attrs, step, scope))

    def _unmade(self, seq: int, record: Any, error: Exception) -> Lost:
        name = record.name if isinstance(record, Span) else record[2]
        self._recorder.problem("unserialisable", f"{name!r} could not be made a line: {type(error).__name__}: {error}")
        return Lost(self.identity.proc, seq, self._recorder.now(), "lines", 1, f"not a line: {type(error).__name__}")
