"""Turning what callers pass into plain JSON values, at the call, while it is still theirs to read."""

from collections.abc import Mapping
from typing import Any

from rl_insight.record.recorder import recorder

SCALARS = frozenset({str, int, float, bool, type(None)})
NUMBERS = frozenset({float, int})

MAX_DEPTH = 6
MAX_ITEMS = 256
MAX_ALL_ITEMS = 4096
MAX_TEXT = 1 << 20

_INT64 = range(-(2**63), 2**63)


def own(values: Any) -> dict[str, Any]:
    """A copy of a caller's mapping, with only JSON values in it, that nobody else can change.

    Keys are nearly always text; those of a plain dict that are not are found when the line is made.
    """
    if type(values) is dict:
        for value in values.values():
            if type(value) not in SCALARS:
                return plain_dict(values)
        return values.copy()
    return plain_dict(values)


def settle(keywords: dict[str, Any]) -> dict[str, Any]:
    """The same for the keywords of a call: already a dict of our own, so copied only when it must be cleaned."""
    for value in keywords.values():
        if type(value) not in SCALARS:
            return plain_dict(keywords)
    return keywords


def plain_dict(values: Any) -> dict[str, Any]:
    """A copy with only JSON values in it; what is not JSON becomes its text and is counted as a problem."""
    try:
        items = list(values.items()) if isinstance(values, Mapping) else None
    except Exception:
        items = None
    if items is None:
        recorder.problem("bad_attributes", f"attributes must be a mapping, not {_type_name(values)}")
        return {"value": plain(values)}
    return {key if type(key) is str else text(key): plain(value) for key, value in items}


def plain(value: Any) -> Any:
    """A JSON value that says what `value` says, copied, however odd `value` is."""
    return _plain(value, 0, [MAX_ALL_ITEMS])


def _plain(value: Any, depth: int, room: list[int]) -> Any:
    if type(value) in SCALARS:
        return value
    try:
        return _plain_compound(value, depth, room)
    except Exception as error:
        recorder.problem("unserialisable", f"a {_type_name(value)} cannot be recorded: {_type_name(error)}")
        return f"<{_type_name(value)}>"


def _plain_compound(value: Any, depth: int, room: list[int]) -> Any:
    if isinstance(value, Mapping):
        items = list(value.items())
        most = _items(depth, room, len(items))
        if not most and items:
            return f"<{_type_name(value)} of {len(items)}>"
        out = {text(key): _plain(item, depth + 1, room) for key, item in items[:most]}
        if len(items) > most:
            out["…"] = f"{len(items) - most} more"
        return out
    if isinstance(value, (list, tuple, set, frozenset)):
        sequence = list(value)
        most = _items(depth, room, len(sequence))
        if not most and sequence:
            return f"<{_type_name(value)} of {len(sequence)}>"
        shown = [_plain(item, depth + 1, room) for item in sequence[:most]]
        if len(sequence) > most:
            shown.append(f"… {len(sequence) - most} more")
        return shown
    # Subclasses (enums, NumPy's float64) say what they are in their base's words, not in words of their own.
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(value)} bytes>"
    if isinstance(value, BaseException):
        return describe(value)
    if _is_one_element(value):
        return _plain(value.item(), depth + 1, room) if depth < MAX_DEPTH else f"<{_type_name(value)}>"
    shape = getattr(value, "shape", None)
    if shape is not None and getattr(value, "dtype", None) is not None:
        return f"<{_type_name(value)} {tuple(shape)} {value.dtype}>"
    if isinstance(value, type):
        return value.__qualname__
    said = str(value)[:MAX_TEXT]
    if _has_no_text(type(value)):
        recorder.problem("unserialisable", f"a {_type_name(value)} was recorded as {said!r}")
    return said


def _items(depth: int, room: list[int], wanted: int) -> int:
    """How many items of a collection are recorded, there and in all."""
    most = 0 if depth >= MAX_DEPTH else min(wanted, MAX_ITEMS, room[0])
    room[0] -= most
    return most


def number(value: Any) -> float | int | None:
    """`value` as a number, or None when it is not one. Tensors and arrays of one element are."""
    if type(value) in NUMBERS:
        return value  # type: ignore[no-any-return]
    try:
        if isinstance(value, (str, bytes, type(None))):
            return None
        return float(value.item() if _is_one_element(value) else value)
    except Exception:
        return None


def whole(value: Any) -> int | None:
    """`value` as a whole number of 64 bits, or None when it is not one."""
    try:
        found = value if type(value) is int else int(value.item() if _is_one_element(value) else value)
    except Exception:
        return None
    return found if found in _INT64 else None


def take_step(labels: dict[str, Any]) -> int | None:
    """Take the training step out of labels, when they name one."""
    step = labels.get("step")
    if type(step) is int and step in _INT64:
        del labels["step"]
        return step
    return None


def text(value: Any) -> str:
    """A label's or a tag's value as text."""
    if type(value) is str:
        return value
    if value is True or value is False:
        return "true" if value else "false"
    if value is None:
        return ""
    made = plain(value)
    return made if isinstance(made, str) else _number_text(made)


def _number_text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # Python will not print a whole number of thousands of digits
        return "<int>"


def shown(value: Any) -> str:
    """A short `repr` for a message, whatever the value's own does."""
    try:
        return repr(value[:80] if isinstance(value, (str, bytes)) else value)[:120]
    except Exception:
        return f"<{_type_name(value)}>"


def describe(error: BaseException) -> str:
    """`Type: message`, whatever the exception's own `__str__` does."""
    try:
        message = str(error)
    except Exception:
        message = "<message cannot be shown>"
    return f"{type(error).__name__}: {message[:MAX_TEXT]}" if message else type(error).__name__


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
