"""Carrying the current place in the tree to another process: W3C trace context, with our ids as baggage."""

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

from rl_insight.record.recorder import current, hex_id, recorder
from rl_insight.record.values import text

_TRACEPARENT = re.compile(r"^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:$|-)")
_BAGGAGE = {"task": "rl_insight.task", "session": "rl_insight.session", "submitted": "rl_insight.submitted_ns"}


class Remote:
    """A parent in another process; entering it makes it the current one."""

    __slots__ = ("end", "id", "lane", "outer", "parent", "session", "state", "submitted", "task", "trace")

    def __init__(self, trace: str, identity: str | None, task: str | None, session: str | None, over: bool) -> None:
        self.id = identity
        self.parent = None
        self.state = False
        self.trace = trace
        self.task = task
        self.session = session
        self.submitted: int | None = None
        self.lane = None
        self.end = int(over)
        self.outer = current.get()

    @classmethod
    def of(cls, carrier: Mapping[str, Any], over: bool = False) -> "Remote | None":
        """What a carrier says, or None when it says nothing we can read.

        `over` marks a parent for one span alone: when that span ends, what was current before is current again.
        """
        try:
            headers = {text(key).lower(): text(value) for key, value in carrier.items()}
        except Exception:
            recorder.problem("bad_carrier", f"a carrier must be a mapping, not {type(carrier).__name__}")
            return None
        from urllib.parse import unquote

        items = {
            key.strip(): unquote(value.split(";")[0].strip())
            for key, _, value in (item.partition("=") for item in headers.get("baggage", "").split(","))
        }
        task, session, submitted = (items.get(key) for key in _BAGGAGE.values())
        found = _TRACEPARENT.match(headers.get("traceparent", ""))
        if found is None and "traceparent" in headers:
            recorder.problem("bad_carrier", f"not a W3C traceparent: {headers['traceparent'][:80]!r}")
        if found is None and not task and not session:
            return None
        trace = found[1] if found is not None else recorder.hex_trace(recorder.next_id())
        remote = cls(trace, found[2] if found is not None else None, task, session, over)
        remote.submitted = (
            int(submitted) if submitted and re.fullmatch("[0-9]{1,18}|[1-8][0-9]{18}", submitted) else None
        )
        return remote

    def __enter__(self) -> "Remote":
        self.outer = current.get()
        current.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        if current.get() is self:
            current.set(self.outer)


class Nowhere:
    """What `extract` returns for a carrier that says nothing: entering it changes nothing."""

    __slots__ = ()

    def __enter__(self) -> "Nowhere":
        return self

    def __exit__(self, *error: object) -> None:
        return None


def inject(carrier: MutableMapping[str, str] | None = None) -> MutableMapping[str, str]:
    """Write where we are into a mapping of headers (a new one by default), and return it."""
    carrier = {} if carrier is None else carrier
    here = current.get()
    if here is None or not recorder.active:
        return carrier
    try:
        parent = here.parent if here.state and here.parent is not None else here.id
        if parent is not None:
            carrier["traceparent"] = f"00-{recorder.hex_trace(here.trace or here.id)}-{hex_id(parent)}-01"
        ids = {key: value for key in ("task", "session") if (value := getattr(here, key))}
        if ids:
            carrier["baggage"] = baggage(carrier.get("baggage"), **ids)
    except Exception as error:
        recorder.failed(error)
    return carrier


def baggage(given: str | None, **ours: str) -> str:
    """A W3C baggage header: what it held, with our ids set to these."""
    keys = {_BAGGAGE[key] for key in ours}
    from urllib.parse import quote

    kept = [item for item in text(given).split(",") if item and item.partition("=")[0].strip() not in keys]
    return ",".join(
        kept + [f"{_BAGGAGE[key]}={quote(value, safe='', errors='replace')}" for key, value in ours.items()]
    )


def extract(carrier: Mapping[str, str] | None) -> "Remote | Nowhere":
    """Continue where the sender of `carrier` was, for the body of a `with`."""
    if carrier is None or not recorder.active:
        return Nowhere()
    return Remote.of(carrier) or Nowhere()
