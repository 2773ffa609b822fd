"""Carrying the current place in the tree to another process: W3C trace context, with our ids as baggage."""

import re
from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import quote, unquote

from rl_insight.record.recorder import current, hex_id, recorder

_TRACEPARENT = re.compile(r"^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_BAGGAGE = {"task": "rl_insight.task", "session": "rl_insight.session"}


class Remote:
    """A parent in another process; entering it makes it the current one."""

    __slots__ = ("end", "lane", "link", "outer", "session", "task", "trace")

    def __init__(self, trace: str, link: str | None, task: str | None, session: str | None, over: bool) -> None:
        self.link = link
        self.trace = trace
        self.task = task
        self.session = session
        self.lane = None
        self.end = int(over)
        self.outer = current.get()

    @classmethod
    def of(cls, carrier: Mapping[str, Any], over: bool = False) -> "Remote | None":
        """What a carrier says, or None when it says nothing we can read.

        `over` marks a parent for one span alone: when that span ends, what was current before is current again.
        """
        try:
            headers = {str(key).lower(): str(value) for key, value in carrier.items()}
        except Exception:
            recorder.problem("bad_carrier", f"a carrier must be a mapping, not {type(carrier).__name__}")
            return None
        baggage = {
            key.strip(): unquote(value.split(";")[0].strip())
            for key, _, value in (item.partition("=") for item in headers.get("baggage", "").split(","))
        }
        task, session = baggage.get(_BAGGAGE["task"]), baggage.get(_BAGGAGE["session"])
        found = _TRACEPARENT.match(headers.get("traceparent", ""))
        if found is not None:
            return cls(found[1], found[2], task, session, over)
        if "traceparent" in headers:
            recorder.problem("bad_carrier", f"not a W3C traceparent: {headers['traceparent'][:80]!r}")
        if task or session:
            return cls(recorder.hex_trace(recorder.next_id()), None, task, session, over)
        return None

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
    if here.link is not None:
        carrier["traceparent"] = f"00-{recorder.hex_trace(here.trace)}-{hex_id(here.link)}-01"
    baggage = [
        f"{_BAGGAGE[key]}={quote(value, safe='')}" for key in ("task", "session") if (value := getattr(here, key))
    ]
    if baggage:
        carrier["baggage"] = ",".join(filter(None, [carrier.get("baggage"), *baggage]))
    return carrier


def extract(carrier: Mapping[str, str] | None) -> "Remote | Nowhere":
    """Continue where the sender of `carrier` was, for the body of a `with`."""
    if not carrier or not recorder.active:
        return Nowhere()
    return Remote.of(carrier) or Nowhere()
