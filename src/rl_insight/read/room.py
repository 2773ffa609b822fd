"""Attributes hold whatever users put there: how much of them goes into one answer."""

from __future__ import annotations

from typing import Any

import msgspec

LONGEST = 4_000
BYTES = 1_000_000


class Room:
    """Room for attributes in one answer. Long texts are cut; when the room is used up the rest is left out."""

    def __init__(self, size: int = BYTES) -> None:
        self._left = size
        self.full = False

    def opened(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row with its JSON columns decoded, as far as there is room."""
        for key in ("attrs", "tags"):
            if key in row:
                row[key] = self._decode(row[key])
        return row

    def _decode(self, encoded: str | None) -> Any:
        if not encoded:
            return {}
        value = msgspec.json.decode(encoded)
        if len(encoded) > LONGEST:
            value = {name: _cut(inner) for name, inner in value.items()}
            self.full = True
        self._left -= min(len(encoded), LONGEST)
        if self._left < 0:
            self.full = True
            return {}
        return value


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text[: LONGEST // 4] + "…" if len(text) > LONGEST // 4 else value
