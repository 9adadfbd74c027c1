"""The committed view: what reads may see of a core.

A core is ahead of the store while a commit runs; readers must not see what may yet be discarded.
Values are frozen, so the view shares them with the core and costs one pointer each.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

_EMPTY: Mapping[str, object] = MappingProxyType({})


class View:
    """Committed values by kind and key."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, object]] = {}

    def get(self, kind: str, key: str) -> object | None:
        """The committed value, if it is held in memory."""
        return self._kinds.get(kind, _EMPTY).get(key)

    def values(self, kind: str) -> Iterator[object]:
        """Committed values of a kind; a snapshot, safe against later commits."""
        return iter(list(self._kinds.get(kind, _EMPTY).values()))

    def count(self, kind: str) -> int:
        """How many values of a kind are held."""
        return len(self._kinds.get(kind, _EMPTY))

    def put(self, kind: str, key: str, value: object) -> None:
        """Called by the drive after a commit."""
        self._kinds.setdefault(kind, {})[key] = value

    def drop(self, kind: str, key: str) -> None:
        """Called by the drive after a commit."""
        self._kinds.get(kind, {}).pop(key, None)
