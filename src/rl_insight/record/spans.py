"""Spans, states and operations on functions: intervals with a start, an end and a place in the tree."""

import functools
from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar, overload

from msgspec import Struct

from rl_insight.record.recorder import current, monotonic, recorder
from rl_insight.record.values import describe, own, settle
from rl_insight.schema import Part, Status

F = TypeVar("F", bound=Callable[..., Any])

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
    lane: str | None = None
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
        if self.again:
            self.again.pop().__exit__(kind, error, traceback)
            return
        if not self.start or self.end:
            return
        self.end = monotonic()
        if kind is not None and self.status is None:
            self.status, self.reason = outcome_of(error if error is not None else kind())
        outer = self.outer
        if outer is not None and outer.end:
            outer = self.outer = _alive(outer)
        if _current() is self:
            _set_current(outer)
        if recorder.open.pop(self.id, None) is None:
            recorder.announced.pop(self.id, None)
        if recorder.active:
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
        self.again = [*(self.again or []), fresh]
        return fresh.__enter__()

    async def __aenter__(self) -> "Span":
        return self.__enter__()

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.__exit__(kind, error, traceback)

    def __call__(self, function: F) -> F:
        return wrap(function, lambda arguments: self.fresh())

    def fresh(self) -> "Span":
        """Another interval of the same description, not yet entered."""
        return Span(self.name, self.lane, dict(self.attrs) if self.attrs else None, self.state, self.part, self.task)

    def set(self, **attrs: Any) -> "Span":
        """Add attributes; they are recorded when the interval ends."""
        if attrs and recorder.active and not self.end:
            # A new dict each time: the sender may be reading the old one.
            self.attrs = {**(self.attrs or {}), **settle(attrs)}
        return self

    def fail(self, reason: str, status: Status = "error") -> "Span":
        """Say that the work inside did not succeed, though no exception says so."""
        self.status, self.reason = status, str(reason)
        return self


def trace_span(
    name: str,
    start_time_ns: int | None = None,
    end_time_ns: int | None = None,
    attributes: Mapping[str, Any] | None = None,
    parent_carrier: Mapping[str, str] | None = None,
) -> Span:
    """Record an interval: with both times, one that is over; without, the body of a `with` or a function."""
    span = Span(name)
    if not recorder.active:
        return span
    if attributes:
        span.attrs = own(attributes)
        if "state_lane_id" in span.attrs:
            span.lane = str(span.attrs["state_lane_id"])
    if parent_carrier is not None:
        from rl_insight.record.propagation import Remote

        span.outer = Remote.of(parent_carrier, over=True)
    if start_time_ns is not None or end_time_ns is not None:
        _record_finished(span, start_time_ns, end_time_ns)
    return span


def trace_state(state_name: str, state_lane_id: Any = None, **labels: Any) -> Span:
    """Record what a lane (a rank, an engine, a worker) is doing, for the body of a `with` or of a function."""
    if state_lane_id is None:
        lane = recorder.pid_lane
    else:
        lane = state_lane_id if state_lane_id.__class__ is str else str(state_lane_id)
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
        called = name or getattr(function, "__qualname__", None) or type(function).__qualname__

        def span_of(arguments: tuple[Any, ...]) -> Span:
            labels = dict(static_labels)
            if extra_labels is not None and arguments:
                try:
                    labels.update(extra_labels(arguments[0]) or {})
                except Exception as error:
                    recorder.problem("extra_labels", f"extra_labels of {called} raised {describe(error)}")
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


def outcome_of(error: BaseException) -> tuple[Status, str]:
    """Status and reason of an interval that an exception ended."""
    name = type(error).__name__
    if isinstance(error, (GeneratorExit, KeyboardInterrupt)) or name == "CancelledError":
        return "cancelled", describe(error)
    if isinstance(error, TimeoutError) or name in ("TimeoutError", "GetTimeoutError"):
        return "timeout", describe(error)
    if isinstance(error, SystemExit) and not error.code:
        return "ok", describe(error)
    return "error", describe(error)


def wrap(function: F, span_of: Callable[[tuple[Any, ...]], Any]) -> F:
    """`function` with each call inside the interval that `span_of(arguments)` makes."""
    import inspect

    wrapper: Callable[..., Any]
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def in_coroutine(*args: Any, **kwargs: Any) -> Any:
            if not recorder.active:
                return await function(*args, **kwargs)
            with span_of(args):
                return await function(*args, **kwargs)

        wrapper = in_coroutine
    elif inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        def in_async_generator(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            return _drive_async(span_of(args), generator) if recorder.active else generator

        wrapper = in_async_generator
    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def in_generator(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            return _drive(span_of(args), generator) if recorder.active else generator

        wrapper = in_generator
    else:

        @functools.wraps(function)
        def in_function(*args: Any, **kwargs: Any) -> Any:
            if not recorder.active:
                return function(*args, **kwargs)
            with span_of(args):
                return function(*args, **kwargs)

        wrapper = in_function
    return wrapper  # type: ignore[return-value]


def _drive(span: Any, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run a generator inside a span, stepping out of it while the consumer's code runs."""
    outside = _current()
    with span:
        sent: Any = None
        error: BaseException | None = None
        while True:
            try:
                item = generator.throw(error) if error is not None else generator.send(sent)
            except StopIteration as stop:
                return stop.value
            _set_current(outside)
            sent = error = None
            try:
                sent = yield item
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as thrown:
                error = thrown
            outside = _current()
            _set_current(span)


async def _drive_async(span: Any, generator: Any) -> Any:
    """The same for an asynchronous generator."""
    outside = _current()
    with span:
        sent: Any = None
        error: BaseException | None = None
        while True:
            try:
                item = await (generator.athrow(error) if error is not None else generator.asend(sent))
            except StopAsyncIteration:
                return
            _set_current(outside)
            sent = error = None
            try:
                sent = yield item
            except GeneratorExit:
                await generator.aclose()
                raise
            except BaseException as thrown:
                error = thrown
            outside = _current()
            _set_current(span)


def _alive(span: Any) -> Any:
    """The nearest enclosing interval that is still open; spans may end in another order than they began."""
    while span is not None and span.end:
        span = span.outer
    return span


def _own_labels(span: Span, labels: dict[str, Any]) -> None:
    """Take `step` out of the labels, and copy what could change after the call."""
    if labels.get("step").__class__ is int:
        span.step = labels.pop("step")
    span.attrs = settle(labels) or None


def _record_finished(span: Span, start_ns: Any, end_ns: Any) -> None:
    now = recorder.now()
    start = now if start_ns is None else start_ns
    end = now if end_ns is None else end_ns
    if not isinstance(start, (int, float)) or not isinstance(end, (int, float)) or not 0 <= start < 2**63:
        recorder.problem("bad_time", f"span {span.name!r} dropped: its times are {start!r} and {end!r}")
        return
    if end < start:
        recorder.problem("end_before_start", f"span {span.name!r} ends before it starts; recorded with no length")
        end = start
    if not isinstance(span.name, str):
        span.name = str(span.name)
    span.id = recorder.next_id()
    outer = span.outer or _current()
    if outer is not None:
        span._join(outer)
    if span.step is None:
        step = (span.attrs or {}).get("global_steps", (span.attrs or {}).get("step"))
        span.step = step if step.__class__ is int else recorder.step
    span.start = int(start) - recorder.base
    span.end = int(end) - recorder.base
    recorder.add(span)
