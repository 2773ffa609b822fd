"""Spans, states and operations on functions: intervals with a start, an end and a place in the tree."""

from collections.abc import Callable, Mapping
from typing import Any, overload

from msgspec import Struct

from rl_insight.record.functions import F, wrap
from rl_insight.record.recorder import current, monotonic, recorder
from rl_insight.record.values import describe, own, settle, shown, take_step, text, whole
from rl_insight.schema import Part, Status

STATUSES = ("ok", "error", "timeout", "cancelled")

_current = current.get
_set_current = current.set


class Span(Struct, gc=False, eq=False):
    """An interval: a context manager (plain and async) and a decorator.

    Entering makes it the parent of what is recorded inside; leaving it, normally or by an exception, records it.
    A state differs in two ways: it has a lane of its own and stands outside the tree, so what is recorded inside
    has the parent that the state itself would have had.
    """

    # No cycle is possible: `outer` points to older spans only, so the collector of cycles need not look here.
    name: str
    lane: str | None = None  # an empty one stands for the process's own
    attrs: dict[str, Any] | None = None
    state: bool = False
    part: Part | None = None
    task: str | None = None
    session: str | None = None
    step: int | None = None
    start: int = 0
    end: int = 0
    id: int | str = 0
    parent: int | str | None = None  # of a state: what is recorded inside has this parent, the state itself has none
    trace: int | str = 0  # 0 where the trace begins: it is named by its first span
    outer: Any = None
    status: Status | None = None
    reason: str | None = None
    again: list[Any] | None = None
    given: tuple[int | None, Any] | None = None  # step and attributes as they were given, when they changed since

    def __enter__(self) -> "Span":
        if not recorder.active:
            return self
        if self.start:
            return self._enter_again()
        self.id = identity = recorder.next_id()
        outer = self.outer or _current()
        if outer is not None:
            self._join(outer)
        if recorder.step is not None and self.step is None:
            self.step = recorder.step
        _set_current(self)
        recorder.open[identity] = self
        self.start = monotonic()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self.again and self._exit_again(kind, error, traceback):
            return
        if not self.start or self.end:
            # Inherited by a forked child (an end below 0), or left twice: nothing to record, only to step out of.
            if self.end < 0 and _current() is self:
                _set_current(self.outer)
            return
        self.end = monotonic()
        if kind is not None and self.status is None:
            self.status, self.reason = outcome_of(error if isinstance(error, BaseException) else kind)
        outer = self.outer
        if outer is not None and outer.end > 0:
            outer = self.outer = _alive(outer)
        if _current() is self:
            _set_current(outer)
        if recorder.open.pop(self.id, None) is None:
            recorder.announced.pop(self.id, None)
        if recorder.active:
            if len(recorder.buffer) < recorder.limit:
                recorder.buffer.append(self)
            else:
                recorder.add(self)

    def _join(self, outer: Any) -> None:
        self.outer = outer
        self.trace = outer.trace or outer.id
        self.parent = outer.parent if outer.state else outer.id
        if outer.task is not None and self.task is None:
            self.task = outer.task
        if outer.session is not None and self.session is None:
            self.session = outer.session
        if outer.lane is not None and self.lane is None:
            self.lane = outer.lane

    def _enter_again(self) -> "Span":
        # One object entered twice (a shared `with`, a recursive function): each time is an interval of its own.
        fresh = self.fresh()
        with recorder.lock:
            self.again = [*(self.again or ()), fresh]
        return fresh.__enter__()

    def _exit_again(self, kind: Any, error: Any, traceback: Any) -> bool:
        """End the one of its intervals that was entered here; False when that is the first, this object itself."""
        here = _current()
        with recorder.lock:
            if not self.again or (here is self and not self.end):
                return False
            found = next((span for span in self.again if span is here), self.again[-1])
            self.again = [span for span in self.again if span is not found]
        found.__exit__(kind, error, traceback)
        return True

    async def __aenter__(self) -> "Span":
        return self.__enter__()

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.__exit__(kind, error, traceback)

    def __call__(self, function: F) -> F:
        return wrap(function, lambda arguments: self.fresh())

    def fresh(self) -> "Span":
        """Another interval of the same description, not yet entered."""
        step, attrs = self.given or (None, self.attrs)
        named = self.state or bool(attrs and "state_lane_id" in attrs)  # else the lane is that of the first time
        made = Span(self.name, self.lane if named else None, own(attrs) if attrs else None, self.state, self.part)
        if self.state and made.attrs:
            _own_labels(made, made.attrs)
        if step is not None:
            made.step = step
        return made

    def set(self, **attrs: Any) -> "Span":
        """Add attributes; they are recorded when the interval ends."""
        if self.again:
            self.again[-1].set(**attrs)
        elif attrs and recorder.active and not self.end:
            if self.given is None:
                self.given = (None, self.attrs)
            # A new dict each time: the sender may be reading the old one.
            self.attrs = {**(self.attrs or {}), **settle(attrs)}
        return self

    def fail(self, reason: str, status: Status = "error") -> "Span":
        """Say that the work inside did not succeed, though no exception says so."""
        if type(status) is not str or status not in STATUSES:
            recorder.problem("bad_status", f"status {shown(status)} is not one of {', '.join(STATUSES)}")
            status = "error"
        self.status, self.reason = status, text(reason)
        return self


def trace_span(
    name: str,
    start_time_ns: int | None = None,
    end_time_ns: int | None = None,
    attributes: Mapping[str, Any] | None = None,
    parent_carrier: Mapping[str, str] | None = None,
) -> Span:
    """Record an interval: with both times, one that is over; without, the body of a `with` or a function."""
    if not recorder.active:
        return Span(name, None, attributes)  # type: ignore[arg-type]  # made plain if it is a decorator
    span = Span(name)
    try:
        if attributes is not None:
            span.attrs = own(attributes) or None
            if span.attrs and "state_lane_id" in span.attrs:
                span.lane = text(span.attrs["state_lane_id"])
        if parent_carrier is not None:
            from rl_insight.record.propagation import Remote

            span.outer = Remote.of(parent_carrier, over=True)
        if start_time_ns is not None or end_time_ns is not None:
            record_finished(span, start_time_ns, end_time_ns)
    except Exception as error:
        recorder.failed(error)
    return span


def trace_state(state_name: str, state_lane_id: Any = None, **labels: Any) -> Span:
    """Record what a lane (a rank, an engine, a worker) is doing, for the body of a `with` or of a function."""
    lane = state_lane_id if type(state_lane_id) is str else text(state_lane_id)  # of None, an empty one
    span = Span(state_name, lane, labels or None, True, "state")
    if labels and recorder.active:
        _own_labels(span, labels)
    return span


@overload
def trace_op(name: F) -> F: ...


@overload
def trace_op(
    name: str | None = None,
    extra_labels: Callable[[Any], Mapping[str, Any] | None] | None = None,
    **static_labels: Any,
) -> Callable[[F], F]: ...


def trace_op(name: Any = None, extra_labels: Any = None, **static_labels: Any) -> Any:
    """Decorate a function, coroutine or generator so that each of its calls is a span.

    `extra_labels` is called with the first argument and returns attributes; when it fails the static ones are kept.
    """
    if callable(name):
        return trace_op()(name)

    def decorate(function: F) -> F:
        called = name if name is not None else getattr(function, "__qualname__", type(function).__qualname__)

        def span_of(arguments: tuple[Any, ...]) -> Span:
            labels = dict(static_labels)
            if extra_labels is not None and arguments:
                try:
                    labels.update(extra_labels(arguments[0]) or {})
                except Exception as error:
                    recorder.problem("extra_labels", f"extra_labels of {text(called)} raised {describe(error)}")
            span = Span(called, None, labels or None)
            if labels:
                _own_labels(span, labels)
            return span

        return wrap(function, span_of)

    return decorate


def current_span() -> Span | None:
    """The innermost interval that is open here, or None."""
    found = _current()
    return found if isinstance(found, Span) else None


def outcome_of(error: BaseException | type[BaseException]) -> tuple[Status, str]:
    """Status and reason of an interval that an exception ended."""
    if isinstance(error, type):
        return "error", error.__name__
    name = type(error).__name__
    if isinstance(error, (GeneratorExit, KeyboardInterrupt)) or name == "CancelledError":
        return "cancelled", describe(error)
    if isinstance(error, TimeoutError) or name in ("TimeoutError", "GetTimeoutError"):
        return "timeout", describe(error)
    if isinstance(error, SystemExit) and not error.code:
        return "ok", describe(error)
    return "error", describe(error)


def _alive(span: Any) -> Any:
    """The nearest enclosing interval that is still open; spans may end in another order than they began."""
    while span is not None and span.end > 0:
        span = span.outer
    return span


def _own_labels(span: Span, labels: dict[str, Any]) -> None:
    """Take `step` out of the labels, and copy what could change after the call."""
    labels = settle(labels)
    if "step" in labels:
        span.step = take_step(labels)
    span.attrs = labels or None
    if span.step is not None:
        span.given = (span.step, span.attrs)


def record_finished(span: Span, start_ns: Any, end_ns: Any) -> None:
    """Record a span that is over, with its times in ns since the epoch; None: now."""
    now = recorder.now()
    start = now if start_ns is None else _nanos(start_ns)
    end = now if end_ns is None else _nanos(end_ns)
    if start is None or end is None:
        recorder.problem(
            "bad_time", f"span {shown(span.name)} dropped: its times are {shown(start_ns)} and {shown(end_ns)}"
        )
        return
    if end < start:
        recorder.problem("end_before_start", f"span {shown(span.name)} ends before it starts; recorded with no length")
        end = start
    span.id = recorder.next_id()
    outer = span.outer or _current()
    if outer is not None:
        span._join(outer)
    attrs = span.attrs or {}
    span.step = take_step({"step": attrs.get("global_steps", attrs.get("step"))})
    if span.step is None:
        span.step = recorder.step
    span.start = start - recorder.base
    span.end = end - recorder.base
    recorder.add(span)


def _nanos(value: Any) -> int | None:
    """A time in ns since the epoch, of whatever type of number."""
    nanos = None if issubclass(type(value), (str, bytes)) else whole(value)
    return nanos if nanos is not None and nanos >= 0 else None
