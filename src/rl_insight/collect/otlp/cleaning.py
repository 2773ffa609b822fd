"""What others send, made fit for a line: attributes taken apart by the mapping table, secrets and text taken out."""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight import config
from rl_insight.record.redaction import Redactor
from rl_insight.record.values import text
from rl_insight.schema import conventions as names

MAX_NAME = 512
INT64 = range(-(2**63), 2**63)

_ROWS = {row.attribute: row for row in names.RECORD}
_WHOLE = frozenset({"step", "try", "count"})
_STATUSES = frozenset({"ok", "error", "timeout", "cancelled"})
_PARTS = frozenset({"state", "task", "session", "turn", "phase"})


class Reject(ValueError):
    """A record that cannot be a line; the rest of its request is kept."""


class Taken(msgspec.Struct):
    """The attributes of a record, sorted into fields of a line, tags of a fact, and what stays an attribute."""

    fields: dict[str, Any]
    tags: dict[str, str]
    attrs: dict[str, Any]
    made: frozenset[str]
    kind: str | None = None
    seq: int | None = None


def take(attributes: dict[str, Any]) -> Taken:
    """Sort attributes by the mapping table; what has a wrong type for its field stays an attribute."""
    taken = Taken({}, {}, {}, frozenset())
    added: list[Any] = []
    for key, value in attributes.items():
        if not key.startswith("rl."):
            taken.attrs[key] = value
        elif key == names.SEQ:
            taken.seq = value if type(value) is int else None
        elif key == names.KIND:
            taken.kind = value
        elif key == names.ADDED:
            added = value if isinstance(value, list) else []
        elif key == names.MADE:
            taken.made = frozenset(map(str, value)) if isinstance(value, list) else frozenset()
        elif key.startswith(names.TAG):
            taken.tags[key.removeprefix(names.TAG)] = text(value)
        elif key.startswith(names.ESCAPE):
            taken.attrs[key.removeprefix(names.ESCAPE)] = value
        elif key in _ROWS and (fit := _fit(_ROWS[key].field, value)) is not None:
            taken.fields[_ROWS[key].field] = fit
        else:
            taken.attrs[key] = value
    for key in added:
        taken.attrs.pop(key, None)
    return taken


def adopt(taken: Taken) -> None:
    """What others call a lane, a session, tokens or a reward, under our names; theirs stays beside it."""
    attrs = taken.attrs
    # As RL-Insight 0.3 sends it.
    if "lane" not in taken.fields and _fit("lane", attrs.get("state_lane_id")):
        taken.fields["lane"] = _fit("lane", attrs["state_lane_id"])
        if "state_name" in attrs:
            taken.fields.setdefault("part", "state")
    for key in ("step", "global_steps"):
        if "step" not in taken.fields and _fit("step", attrs.get(key)) is not None:
            taken.fields["step"] = attrs[key]
    if "session" not in taken.fields:
        for key in names.SESSION.also:
            if isinstance(attrs.get(key), str) and attrs[key]:
                taken.fields["session"] = attrs[key]
                break
    for row in names.DERIVED:
        if row.attribute in attrs and row.attr not in attrs:
            attrs[row.attr] = attrs.pop(row.attribute) if row.attribute.startswith("rl.") else attrs[row.attribute]


def _fit(field: str, value: Any) -> Any:
    if field in _WHOLE:
        return value if type(value) is int and value in INT64 and (field == "step" or value >= 0) else None
    if value is None or isinstance(value, (dict, list)):
        return None
    said = text(value)
    if field in ("status", "outcome"):
        return said if said in _STATUSES else None
    if field == "part":
        return said if said in _PARTS else None
    return said


def stamp(nanos: int) -> int:
    """A moment as a line has it; raises `Reject` for one that no clock shows."""
    if not 0 <= nanos < 2**63:
        raise Reject(f"a time of {nanos} ns since the epoch is none")
    return nanos


class Cleaner:
    """Takes secrets, and text that nobody opted in to, out of what was not recorded by us."""

    def __init__(self, settings: config.Redact) -> None:
        self._redactor = Redactor(
            enabled=settings.enabled,
            keys=settings.keys,
            patterns=settings.patterns,
            text=settings.text,
            text_keys=settings.text_keys,
            max_value=settings.max_value,
        )
        self._hides_text = settings.enabled and not settings.text

    def attrs(self, attrs: dict[str, Any]) -> dict[str, Any] | None:
        """Attributes of a line; None for none."""
        if not attrs:
            return None
        hidden = names.TEXT_ATTRIBUTES.intersection(attrs) if self._hides_text else ()
        if not hidden:
            return self._redactor.attrs(attrs)
        rest = {key: value for key, value in attrs.items() if key not in hidden}
        return {**self._redactor.attrs(rest), **{key: _hidden(attrs[key]) for key in hidden}}

    def labels(self, attributes: dict[str, Any]) -> dict[str, str] | None:
        """Labels of a metric: the same, as text."""
        cleaned = self.attrs(attributes)
        return {text(key): text(value) for key, value in cleaned.items()} if cleaned else None

    def string(self, said: str) -> str:
        """A text that is a field of its own."""
        return self._redactor.text("text", said)

    def optional(self, said: str | None) -> str | None:
        """The same for one that may be missing."""
        return self._redactor.text("text", said) if said else None

    def name(self, said: str) -> str:
        """A name: printable, not empty, not too long."""
        cleaned = self._redactor.text("name", said)
        return "".join(letter if letter.isprintable() else " " for letter in cleaned).strip()[:MAX_NAME] or "unnamed"


def _hidden(value: Any) -> str:
    size = f"{len(value)} chars" if isinstance(value, str) else f"{len(value)} items" if isinstance(value, list) else ""
    return f"[text not recorded{': ' if size else ''}{size}]"
