"""JSON values and ids as protobuf has them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}").fullmatch
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}").fullmatch
_INT64 = range(-(2**63), 2**63)


def put(value: Any, said: Any) -> None:
    """Write a JSON value into an AnyValue. Null is a value that is not set."""
    kind = said.__class__
    if kind is str:
        value.string_value = said
    elif kind is bool:
        value.bool_value = said
    elif kind is int:
        if said in _INT64:
            value.int_value = said
        else:
            value.string_value = str(said)
    elif kind is float:
        value.double_value = said
    elif kind is list:
        value.array_value.SetInParent()
        for item in said:
            put(value.array_value.values.add(), item)
    elif kind is dict:
        value.kvlist_value.SetInParent()
        add(value.kvlist_value.values, said)


def add(pairs: Any, attributes: Mapping[str, Any]) -> None:
    """Append attributes to a list of key-value pairs."""
    for key, said in attributes.items():
        pair = pairs.add()
        pair.key = key
        # Set, though perhaps to nothing: a pair without a value is not one.
        pair.value.SetInParent()
        put(pair.value, said)


def span_id(said: str) -> tuple[bytes, bool]:
    """Eight bytes for an id, and whether they say all it said."""
    return (bytes.fromhex(said), True) if _SPAN_ID(said) else (_digest(said, 8), False)


def trace_id(said: str) -> tuple[bytes, bool]:
    """Sixteen bytes for a trace's id, and whether they say all it said."""
    return (bytes.fromhex(said), True) if _TRACE_ID(said) else (_digest(said, 16), False)


def _digest(said: str, size: int) -> bytes:
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=size).digest()
