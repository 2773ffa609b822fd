"""Turning what callers pass into plain JSON values, at the call, while it is still theirs to read."""

import math
from collections.abc import Mapping
from typing import Any

from rl_insight.record.recorder import recorder

SCALARS = frozenset({str, int, float, bool, type(None)})
NUMBERS = frozenset({float, int})

MAX_DEPTH = 6
MAX_ITEMS = 256
MAX_TEXT = 1 << 20


def own(values: Any) -> dict[str, Any]:
    """A copy of a caller's mapping, with only JSON values in it, that nobody else can change."""
    if values.__class__ is dict:
        for value in values.values():
            if value.__class__ not in SCALARS:
                return plain_dict(values)
        return values.copy()
    return plain_dict(values)


def settle(keywords: dict[str, Any]) -> dict[str, Any]:
    """The same for the keywords of a call: already a dict of our own, so copied only when it must be cleaned."""
    for value in keywords.values():
        if value.__class__ not in SCALARS:
            return plain_dict(keywords)
    return keywords


def plain_dict(values: Any) -> dict[str, Any]:
    """A copy with only JSON values in it; what is not JSON becomes its text and is counted as a problem."""
    if not isinstance(values, Mapping):
        recorder.problem("bad_attributes", f"attributes must be a mapping, not {type(values).__name__}")
        return {"value": plain(values)}
    return {key if key.__class__ is str else str(key): plain(value) for key, value in values.items()}


def plain(value: Any, depth: int = 0) -> Any:
    """A JSON value that says what `value` says, copied, however odd `value` is."""
    kind = value.__class__
    if kind in SCALARS:
        return value
    try:
        return _plain_compound(value, depth)
    except Exception as error:
        recorder.problem("unserialisable", f"a {_type_name(value)} cannot be recorded: {_type_name(error)}")
        return f"<{_type_name(value)}>"


def _plain_compound(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        if depth >= MAX_DEPTH:
            return f"<{_type_name(value)} of {len(value)}>"
        items = list(value.items())
        out = {str(key): plain(item, depth + 1) for key, item in items[:MAX_ITEMS]}
        if len(items) > MAX_ITEMS:
            out["…"] = f"{len(items) - MAX_ITEMS} more"
        return out
    if isinstance(value, (list, tuple, set, frozenset)):
        if depth >= MAX_DEPTH:
            return f"<{_type_name(value)} of {len(value)}>"
        sequence = list(value)
        shown = [plain(item, depth + 1) for item in sequence[:MAX_ITEMS]]
        if len(sequence) > MAX_ITEMS:
            shown.append(f"… {len(sequence) - MAX_ITEMS} more")
        return shown
    if isinstance(value, (bool, int, float, str)):  # subclasses: enums, NumPy's float64
        return next(kind(value) for kind in (bool, int, float, str) if isinstance(value, kind))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(value)} bytes>"
    if isinstance(value, BaseException):
        return describe(value)
    if _is_one_element(value):
        return plain(value.item(), depth + 1)
    shape = getattr(value, "shape", None)
    if shape is not None and getattr(value, "dtype", None) is not None:
        return f"<{_type_name(value)} {tuple(shape)} {value.dtype}>"
    if isinstance(value, type):
        return value.__qualname__
    text = str(value)[:MAX_TEXT]
    if _has_no_text(type(value)):
        recorder.problem("unserialisable", f"a {_type_name(value)} was recorded as {text!r}")
    return text


def number(value: Any) -> float | int | None:
    """`value` as a number, or None when it is not one. Tensors and arrays of one element are."""
    if value.__class__ in NUMBERS:
        return value  # type: ignore[return-value]
    if isinstance(value, (str, bytes, type(None))):
        return None
    try:
        return float(value)
    except Exception:
        return None


def text(value: Any) -> str:
    """A label's or a tag's value as text."""
    if value.__class__ is str:
        return value
    if value is True or value is False:
        return "true" if value else "false"
    if value is None:
        return ""
    made = plain(value)
    return made if isinstance(made, str) else str(made)


def describe(error: BaseException) -> str:
    """`Type: message`, whatever the exception's own `__str__` does."""
    try:
        message = str(error)
    except Exception:
        message = "<message cannot be shown>"
    return f"{type(error).__name__}: {message}"[:2000] if message else type(error).__name__


def finite(value: float) -> bool:
    """Whether a number can stand in JSON."""
    return math.isfinite(value)


def _is_one_element(value: Any) -> bool:
    """NumPy scalars and zero- or one-element arrays and tensors, without importing their libraries."""
    if not callable(getattr(value, "item", None)):
        return False
    count = getattr(value, "numel", None)
    size = count() if callable(count) else getattr(value, "size", None)
    return bool(size == 1)


def _has_no_text(kind: type) -> bool:
    """Whether its text would be only its address."""
    texts: tuple[Any, Any] = (kind.__str__, kind.__repr__)
    return texts == (object.__str__, object.__repr__)


def _type_name(value: Any) -> str:
    return type(value).__qualname__
