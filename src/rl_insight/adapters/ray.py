"""Traces across Ray calls: what a task or an actor records stands below the span that its caller was in.

    from rl_insight.adapters.ray import call, carried

    @ray.remote
    @carried                       # takes along where the caller is
    def score(answer): ...

    with insight.trace_span("step"):
        call(score, answer)        # as score.remote(answer), with the place in the trace

`install()` (or the setting `ray.trace_calls`) does both for everything decorated with `@ray.remote` after it.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar, cast

import rl_insight
from rl_insight.record.propagation import extract, inject
from rl_insight.record.recorder import current, recorder

__all__ = ["call", "carried", "install"]

CARRIER = "_rl_insight_carrier"
_MARK = "__rl_insight_carried__"

T = TypeVar("T")


def carried(target: T) -> T:
    """Make a function, or the public methods of a class, continue where their caller was. Goes below `@ray.remote`.

    They take one more keyword argument for that, which callers that know nothing of it leave out.
    """
    if inspect.isclass(target):
        methods = inspect.getmembers(target, inspect.isfunction)
        public = {name: _carried(method) for name, method in methods if not name.startswith("_")}
        # A class of its own: workers that import the one it is made of would find that without our argument.
        own = {"__module__": target.__module__, "__qualname__": target.__qualname__, "__doc__": target.__doc__}
        made: Any = types.new_class(
            target.__name__, (target,), exec_body=lambda namespace: namespace.update(own | public)
        )
        return cast(T, made)
    return _carried(target) if inspect.isfunction(target) else target


def call(remote: Any, *args: Any, **kwargs: Any) -> Any:
    """As `remote.remote(*args, **kwargs)`, with our place in the trace, for a task or a method that is `carried`."""
    return remote.remote(*args, **_with_carrier(kwargs, remote))


def install() -> None:
    """Carry the trace across every call to what is decorated with `@ray.remote` from now on, in this process.

    Workers do the same when the setting `ray.trace_calls` is on. Calls to anything else are left as they are. Ray's own
    tracing hook is for OpenTelemetry alone, and has to be there when the cluster starts.
    """
    import ray
    from ray.actor import ActorMethod
    from ray.remote_function import RemoteFunction

    if getattr(ray.remote, _MARK, False):
        return
    places = [(RemoteFunction, "_remote"), (ActorMethod, "_remote")]
    if not all({"args", "kwargs"} <= inspect.signature(getattr(*place)).parameters.keys() for place in places):
        recorder.problem("ray", f"Ray {ray.__version__} makes calls in a way we do not know; traces do not cross them")
        return
    for kind, name in places:
        setattr(kind, name, _carrying(getattr(kind, name)))
    ray.remote = _decorating(ray.remote)


def _carrying(remote: Callable[..., Any]) -> Callable[..., Any]:
    """Ray's own way into a call, with our place in the trace among its arguments."""

    @functools.wraps(remote)
    def with_carrier(self: Any, args: Any = None, kwargs: Any = None, *more: Any, **options: Any) -> Any:
        return remote(self, args, _with_carrier(kwargs, self), *more, **options)

    return with_carrier


def _decorating(ray_remote: Callable[..., Any]) -> Callable[..., Any]:
    """`ray.remote`, for functions and classes made `carried` first."""

    def prepared(target: Any) -> Any:
        try:
            return carried(target)
        except Exception as error:  # a class that allows no other to be made of it, for instance
            recorder.problem("ray", f"traces do not cross calls to {target!r}: {type(error).__name__}: {error}")
            return target

    @functools.wraps(ray_remote)
    def remote(*args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options and callable(args[0]):
            return ray_remote(prepared(args[0]))
        decorate = ray_remote(*args, **options)
        return lambda target: decorate(prepared(target))

    setattr(remote, _MARK, True)
    return remote


def _with_carrier(kwargs: Any, remote: Any) -> Any:
    if not recorder.active or current.get() is None or not _takes_carrier(remote):
        return kwargs or {}
    carrier = inject()
    return {**(kwargs or {}), CARRIER: dict(carrier)} if carrier else kwargs or {}


def _takes_carrier(remote: Any) -> bool:
    """Whether a task or method has the argument: a call with one that it has not would fail."""
    function = getattr(remote, "_function", None)
    if function is not None:
        return getattr(function, _MARK, False)
    actor, name = getattr(remote, "_actor", None), getattr(remote, "_method_name", "")
    signature = getattr(actor, "_ray_method_signatures", {}).get(name, ())
    return any(getattr(parameter, "name", "") == CARRIER for parameter in signature)


def _carried(function: Any) -> Any:
    if getattr(function, _MARK, False):
        return function
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function)
    elif inspect.iscoroutinefunction(function):
        wrapper = _coroutine(function)
    else:
        wrapper = _plain(function)
    functools.update_wrapper(wrapper, function)
    del wrapper.__wrapped__  # type: ignore[attr-defined]  # Ray would look there for the arguments
    setattr(wrapper, _MARK, True)
    signature = inspect.signature(function)
    ours = inspect.Parameter(CARRIER, inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters = list(signature.parameters.values())
    before_rest = len(parameters) - (bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
    parameters.insert(before_rest, ours)
    wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return wrapper


def _there(kwargs: dict[str, Any]) -> Any:
    """Where the caller was. Whoever is called by a recording process is in a recorded run, and joins it."""
    carrier = kwargs.pop(CARRIER, None)
    if carrier and not recorder.active:
        rl_insight.init()
    return extract(carrier)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _there(kwargs):
            return function(*args, **kwargs)

    return wrapper


def _coroutine(function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _there(kwargs):
            return await function(*args, **kwargs)

    return wrapper


def _generator(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with _there(kwargs):
            yield from function(*args, **kwargs)

    return wrapper


def _async_generator(function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        with _there(kwargs):
            async for one in function(*args, **kwargs):
                yield one

    return wrapper
