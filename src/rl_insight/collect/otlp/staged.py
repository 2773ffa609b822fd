"""A dict whose changes hold only once the log has the lines they belong to."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Staged(Generic[K, V]):
    """What holds, and what will hold once `commit` is called; `forget` takes the latter back."""

    def __init__(self, held: dict[K, V] | None = None, *, limit: int = 0) -> None:
        self._held = held if held is not None else {}
        self._staged: dict[K, V] = {}
        self._limit = limit

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: K) -> V | None:
        """The value under a key, staged or held."""
        found = self._staged.get(key)
        return found if found is not None else self._held.get(key)

    def put(self, key: K, value: V) -> None:
        """Stage a value."""
        self._staged[key] = value

    def drop(self, key: K) -> None:
        """Forget a key that is held."""
        self._held.pop(key, None)

    def items(self) -> list[tuple[K, V]]:
        """What is held."""
        return list(self._held.items())

    def commit(self) -> None:
        """What was staged holds from now on. Beyond the limit, what was put in first goes."""
        self._held.update(self._staged)
        self._staged.clear()
        if self._limit and len(self._held) > self._limit:
            for key in list(self._held)[: len(self._held) - self._limit + self._limit // 10]:
                del self._held[key]

    def forget(self) -> None:
        """What was staged never was."""
        self._staged.clear()
