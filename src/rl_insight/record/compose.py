"""Records become lines here: cleaned, redacted, numbered. Runs in the sender's thread, never in a caller's."""

from collections.abc import Callable
from typing import Any

from rl_insight.record.identity import Identity
from rl_insight.record.recorder import Recorder, hex_id
from rl_insight.record.redaction import Redactor
from rl_insight.record.spans import Span
from rl_insight.record.values import describe, plain_dict, shown, text, whole
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
        # An empty lane is the process's own: it could not be named before there was one.
        self._ids: dict[str, str] = {"": str(identity.pid)}
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
                made.append(self._mend(seq, record, error))
        self.seq = seq
        return made

    def open_lines(self, spans: list[Span]) -> list[Line]:
        """Announce intervals that are still running."""
        made: list[Line] = []
        for span in spans:
            self.seq += 1
            try:
                made.append(self._open(self.seq, span))
            except Exception as error:
                made.append(self._unmade(self.seq, span, error))
        return made

    def process(self, state: Any = "running") -> Process:
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
            labels=self._labels(me.labels) if me.labels else None,
            aliases=self._labels(me.aliases) if me.aliases else None,
            attrs=self._about(),
        )

    def lost(self, count: int, reason: str) -> Lost:
        """Say exactly how much was dropped, and why."""
        self.seq += 1
        return Lost(self.identity.proc, self.seq, self._recorder.now(), "lines", count, reason)

    def _point(self, seq: int, record: Any) -> Line:
        kind, stamp, name, value, labels, step, scope = record
        name = self._names.get(name) or self._name(name)
        if value.__class__ is int:
            value = float(value) if value.bit_length() < 1024 else float("inf")
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
            None if scope is None else self._id(scope.task),
            None if scope is None else self._id(scope.session),
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
            None if span.lane is None else self._id(span.lane),
            None if span.task is None else self._id(span.task),
            None if span.session is None else self._id(span.session),
            span.step,
            span.status,
            None if span.reason is None else self._redactor.text("reason", span.reason),
            span.part,
            self._redactor.attrs(attrs) if attrs else None,
        )

    def _open(self, seq: int, span: Span) -> Line:
        attrs = span.attrs
        return Open(
            self.identity.proc,
            seq,
            self._stamp(span.start),
            self._name(span.name),
            hex_id(span.id),
            None if span.parent is None or span.state else hex_id(span.parent),
            self._recorder.hex_trace(span.trace or span.id),
            self._id(span.lane),
            self._id(span.task),
            self._id(span.session),
            span.step,
            span.part,
            self._redactor.attrs(plain_dict(attrs)) if attrs else None,
        )

    def _fact(self, seq: int, record: Any) -> Line:
        _, stamp, name, tags, op, attempt, peer, outcome, reason, attrs, step, scope = record
        return Fact(
            self.identity.proc,
            seq,
            self._stamp(stamp),
            self._names.get(name) or self._name(name),
            self._labels(tags) if tags else None,
            self._id(op),
            None if attempt is None else self._attempt(attempt),
            self._id(peer),
            outcome,
            None if reason is None else self._redactor.text("reason", text(reason)),
            *self._place(scope),
            step,
            self._redactor.attrs(attrs) if attrs else None,
        )

    def _log(self, seq: int, record: Any) -> Line:
        _, stamp, message, level, logger, attrs, step, scope = record
        message = self._redactor.text("message", message)
        if len(message) > _MAX_NAME:
            attrs = {**attrs, "message_rest": message[_MAX_NAME:]}
        return Log(
            self.identity.proc,
            seq,
            self._stamp(stamp),
            message[:_MAX_NAME] or "(empty message)",
            level[:32],
            logger,
            *self._place(scope),
            step,
            self._redactor.attrs(attrs) if attrs else None,
        )

    def _place(self, scope: Any) -> tuple[str | None, str | None, str | None, str | None]:
        if scope is None:
            return None, None, None, None
        parent = scope.parent if scope.state else scope.id
        return (
            self._recorder.hex_trace(scope.trace or scope.id),
            None if parent is None else hex_id(parent),
            self._id(scope.task),
            self._id(scope.session),
        )

    def _stamp(self, stamp: int) -> int:
        stamp += self._recorder.base
        return stamp if stamp > 0 else 0

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

    def _id(self, given: Any) -> str | None:
        """A lane, a task, a session, an operation or a peer: text that comes again and again."""
        if given is None:
            return None
        known = self._ids.get(given) if given.__class__ is str else None
        if known is None:
            known = self._redactor.text("id", text(given))
            if len(self._ids) >= _REMEMBERED:
                self._ids = {"": self._ids[""]}
            if given.__class__ is str:
                self._ids[given] = known
        return known

    def _attempt(self, given: Any) -> int | None:
        attempt = whole(given)
        if attempt is None or attempt < 0:
            self._recorder.problem("bad_attempt", f"a try must be a whole number from 0, not {shown(given)}")
            return None
        return attempt

    def _name(self, given: Any) -> str:
        known = self._names.get(given) if given.__class__ is str else None
        if known is not None:
            return known
        name = self._redactor.text("name", given if given.__class__ is str else text(given))
        kept = "".join(letter if letter.isprintable() else " " for letter in name).strip()[:_MAX_NAME]
        kept = kept or "unnamed"
        if given.__class__ is not str or kept != given:
            self._recorder.problem("bad_name", f"the name {shown(given)} was recorded as {shown(kept)}")
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

    def _about(self) -> dict[str, Any] | None:
        about: dict[str, Any] = {}
        if self._recorder.problems:
            about["problems"] = dict(self._recorder.problems)
        if self._recorder.docs:
            documented = self._recorder.docs.copy().items()
            about["help"] = {self._name(name): self._redactor.text("help", said) for name, said in documented}
        return about or None

    def _warning(self, seq: int, record: Any, message: str) -> Line:
        """A log line in place of a point that cannot be one: the page shows it, and no number is skipped."""
        _, stamp, name, value, labels, step, scope = record
        attrs = {"metric": self._name(name), "value": text(value), **labels}
        return self._log(seq, (Log, stamp, message, "warning", "rl_insight", attrs, step, scope))

    def _mend(self, seq: int, record: Any, error: Exception) -> Line:
        """Try once more with the name and all keys as text, which a call does not take the time to see to."""
        try:
            if record.__class__ is Span:
                record.name = text(record.name)
                record.attrs = plain_dict(record.attrs) if record.attrs else None
                return self._span(seq, record)
            rest = (plain_dict(field) if field.__class__ is dict else field for field in record[3:])
            return self._compose[record[0]](seq, (*record[:2], text(record[2]), *rest))
        except Exception:
            return self._unmade(seq, record, error)

    def _unmade(self, seq: int, record: Any, error: Exception) -> Lost:
        what = type(record).__name__ if not isinstance(record, tuple) else shown(record[2:3])
        self._recorder.problem("unserialisable", f"{what} could not be made a line: {describe(error)[:200]}")
        return Lost(self.identity.proc, seq, self._recorder.now(), "lines", 1, f"not a line: {type(error).__name__}")
