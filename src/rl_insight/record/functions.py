"""Putting each call of a function, coroutine or generator inside an interval."""

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, TypeVar

from rl_insight.record.recorder import current, recorder

F = TypeVar("F", bound=Callable[..., Any])
SpanOf = Callable[[tuple[Any, ...]], Any]

_current = current.get
_set_current = current.set


def wrap(function: F, span_of: SpanOf) -> F:
    """`function` with each call inside the interval that `span_of(arguments)` makes.

    What it returns is of the same sort (coroutine function, generator function, …), since frameworks ask.
    """
    import inspect

    if inspect.iscoroutinefunction(function):
        wrapper = _in_coroutine(function, span_of)
    elif inspect.isasyncgenfunction(function):
        wrapper = _in_async_generator(function, span_of)
    elif inspect.isgeneratorfunction(function):
        wrapper = _in_generator(function, span_of)
    else:
        wrapper = _in_function(function, span_of)
    return wrapper  # type: ignore[return-value]


def _in_function(function: Callable[..., Any], span_of: SpanOf) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not recorder.active:
            return function(*args, **kwargs)
        with span_of(args):
            return function(*args, **kwargs)

    return wrapper


def _in_coroutine(function: Callable[..., Any], span_of: SpanOf) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not recorder.active:
            return await function(*args, **kwargs)
        with span_of(args):
            return await function(*args, **kwargs)

    return wrapper


def _in_generator(function: Callable[..., Any], span_of: SpanOf) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        if not recorder.active:
            return (yield from generator)
        # The consumer's code runs between two steps of the generator, and is not inside the interval.
        outside = _current()
        try:
            with span_of(args):
                sent: Any = None
                error: BaseException | None = None
                while True:
                    try:
                        item = generator.throw(error) if error is not None else generator.send(sent)
                    except StopIteration as stop:
                        return stop.value
                    inside = _current()
                    _set_current(outside)
                    sent = error = None
                    try:
                        sent = yield item
                    except BaseException as thrown:
                        error = thrown
                    outside = _current()
                    _set_current(inside)
                    if isinstance(error, GeneratorExit):
                        generator.close()
                        raise error
        finally:
            _set_current(outside)

    return wrapper


def _in_async_generator(function: Callable[..., Any], span_of: SpanOf) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        outside = _current()
        try:
            with span_of(args):
                sent: Any = None
                error: BaseException | None = None
                while True:
                    try:
                        item = await (generator.athrow(error) if error is not None else generator.asend(sent))
                    except StopAsyncIteration:
                        return
                    inside = _current()
                    _set_current(outside)
                    sent = error = None
                    try:
                        sent = yield item
                    except BaseException as thrown:
                        error = thrown
                    outside = _current()
                    _set_current(inside)
                    if isinstance(error, GeneratorExit):
                        await generator.aclose()
                        raise error
        finally:
            _set_current(outside)

    return wrapper
