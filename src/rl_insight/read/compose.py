"""Puts questions together: the parts that several share, and the conditions that one caller asks for."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar

import msgspec

from rl_insight.read.rows import Rows, question
from rl_insight.store.sql import load

T = TypeVar("T", bound=msgspec.Struct)

_INCLUDE = re.compile(r"^ *-- include (\w+)\n", re.MULTILINE)
_PARAMETER = re.compile(r"\$([a-z_]\w*)")


def part(name: str) -> str:
    """The text of `parts/<name>.sql`."""
    return load(name, "rl_insight.read", "parts").rstrip()


@cache
def text_of(name: str) -> str:
    """The question in `<name>.sql` with the parts it includes, each once, where first needed.

    `-- include X` on a line of its own stands for `parts/X.sql`, which holds one or more common table expressions.
    """
    there: set[str] = set()

    def included(found: re.Match[str]) -> str:
        if found[1] in there:
            return ""
        there.add(found[1])
        return _INCLUDE.sub(included, part(found[1])) + ",\n"

    return _INCLUDE.sub(included, question(name))


def compose(name: str, fills: dict[str, str] | None = None) -> str:
    """The question in `<name>.sql`, with `/*key*/` replaced by what `fills` has under the key."""
    text = text_of(name)
    for key, value in (fills or {}).items():
        text = text.replace(f"/*{key}*/", value)
    return text


def records(
    source: Rows, name: str, params: dict[str, Any], fills: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Ask a question and return its rows by column name. Parameters it does not use may be given."""
    text = compose(name, fills)
    used = set(_PARAMETER.findall(text))
    table = source.rows(text, {key: value for key, value in params.items() if key in used})
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def structs(
    source: Rows, name: str, into: type[T], params: dict[str, Any], fills: dict[str, str] | None = None
) -> list[T]:
    """Ask a question and return its rows as structs, matched by column name; columns it has not are left out."""
    return [msgspec.convert(row, into) for row in records(source, name, params, fills)]
