"""Facts: what happened, as only this process could see it; and operations, which are pairs of facts."""

from collections.abc import Mapping
from typing import Any

from rl_insight.record.recorder import current, hex_id, monotonic, recorder
from rl_insight.record.spans import STATUSES, outcome_of
from rl_insight.record.values import own, settle, shown, text
from rl_insight.schema import Fact

CLOSING = {"started": "finished", "requested": "answered"}

PROGRESS_EVERY_NS = 5_000_000_000


def fact(
    name: str,
    tags: Mapping[str, Any] | None = None,
    *,
    op: str | None = None,
    attempt: int | None = None,
    peer: str | None = None,
    outcome: str | None = None,
    reason: str | None = None,
    **attrs: Any,
) -> None:
    """Record something that happened, named `group.subject.verb`.

    `tags` tie it to the pieces of data it is about, `op` to the other facts of the same operation, `peer` to the
    process on the other side.
    """
    if recorder.active:
        record(name, tags, op, attempt, peer, outcome, reason, attrs)


def record(
    name: str,
    tags: Any,
    op: str | None,
    attempt: int | None,
    peer: str | None,
    outcome: str | None,
    reason: str | None,
    attrs: dict[str, Any],
) -> None:
    """The same with `attrs` as they are, which may have names that `fact` gives another meaning."""
    stamp = monotonic()
    try:
        if tags is not None:
            tags = own(tags)
        if attrs:
            attrs = settle(attrs)
        if outcome is not None and (outcome.__class__ is not str or outcome not in STATUSES):
            known = ", ".join(STATUSES)
            recorder.problem("bad_outcome", f"fact {shown(name)}: outcome {shown(outcome)} is not one of {known}")
            attrs, outcome = {**attrs, "outcome": text(outcome)}, None
        fact = (Fact, stamp, name, tags, op, attempt, peer, outcome, reason, attrs, recorder.step, current.get())
        if len(recorder.buffer) < recorder.limit:
            recorder.buffer.append(fact)
        else:
            recorder.add(fact)
    except Exception as error:
        recorder.failed(error)


class Operation:
    """The body of a `with`, told as an opening and a closing fact; an error path closes too."""

    __slots__ = (
        "attempt",
        "attrs",
        "closed",
        "name",
        "op",
        "outcome",
        "peer",
        "reason",
        "stem",
        "tags",
        "told",
        "verb",
    )

    def __init__(self, name: str, tags: Any, peer: str | None, attempt: int | None, attrs: dict[str, Any]) -> None:
        name = text(name)
        stem, _, verb = name.rpartition(".")
        self.stem, self.verb = (stem, verb) if verb in CLOSING and stem else (name, "started")
        self.tags = tags
        self.peer = peer
        self.attempt = attempt
        self.attrs = attrs
        self.op: str | None = None
        self.outcome: str | None = None
        self.reason: str | None = None
        self.told = 0
        self.closed = True

    def __enter__(self) -> "Operation":
        if recorder.active:
            self.op = hex_id(recorder.next_id())
            self.outcome = self.reason = None
            self.told = 0
            self.closed = False
            # The closing fact says of what it was what the opening one said, whatever became of the caller's mapping.
            self.tags = None if self.tags is None else own(self.tags)
            self.attrs = settle(self.attrs)
            self._tell(self.verb, self.attrs)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is not None and self.outcome is None:
            self.outcome, self.reason = outcome_of(error if isinstance(error, BaseException) else kind)
        self.close(self.outcome or "ok", self.reason)

    async def __aenter__(self) -> "Operation":
        return self.__enter__()

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.__exit__(kind, error, traceback)

    def set(self, **attrs: Any) -> "Operation":
        """Add attributes to the closing fact."""
        if recorder.active:
            self.attrs = {**self.attrs, **settle(attrs)}
        return self

    def fail(self, reason: str, outcome: str = "error") -> "Operation":
        """Say that the operation did not succeed, though no exception says so."""
        self.outcome, self.reason = outcome, reason
        return self

    def progress(self, **attrs: Any) -> None:
        """Tell how far it is; at most once in five seconds, however often it is called."""
        now = monotonic()
        if not self.closed and now - self.told >= PROGRESS_EVERY_NS:
            self.told = now
            self._tell("progressed", attrs)

    def close(self, outcome: str = "ok", reason: str | None = None, **attrs: Any) -> None:
        """End it now; leaving the `with` afterwards records nothing more."""
        if not self.closed:
            self.closed = True
            self.outcome, self.reason = outcome, reason
            self._tell(CLOSING[self.verb], {**self.attrs, **attrs}, outcome, reason)

    def _tell(self, verb: str, attrs: dict[str, Any], outcome: str | None = None, reason: str | None = None) -> None:
        if recorder.active:
            name = f"{self.stem}.{verb}"
            record(name, self.tags, self.op, self.attempt, self.peer, outcome, reason, attrs)


def operation(
    name: str,
    tags: Mapping[str, Any] | None = None,
    *,
    peer: str | None = None,
    attempt: int | None = None,
    **attrs: Any,
) -> Operation:
    """Record the body of a `with` as a pair of facts, `NAME.started` and `NAME.finished`.

    A name that ends in an opening verb keeps it: `weights.sync.requested` is closed by `weights.sync.answered`.
    """
    return Operation(name, tags, peer, attempt, attrs)
