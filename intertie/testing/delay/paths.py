"""How long bytes take from one place to another, and how to say so: values and their JSON.

A path has a direction; a round trip is two paths, which may differ. Must do no input or output.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

MAX_DELAY_MS = 10_000.0


@dataclass(frozen=True, slots=True)
class Path:
    """One direction. Each chunk takes `delay_ms` and at most `jitter_ms` more; cut = held back."""

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    cut: bool = False

    def __post_init__(self) -> None:
        for name, value in (("delay_ms", self.delay_ms), ("jitter_ms", self.jitter_ms)):
            if not 0 <= value <= MAX_DELAY_MS:  # false for NaN too
                message = f"{name}: {value} is not in 0..{MAX_DELAY_MS:g}"
                raise ValueError(message)

    def draw_s(self, rng: random.Random) -> float:
        """How long the next chunk takes, in seconds."""
        return (self.delay_ms + self.jitter_ms * rng.random()) / 1000.0

    def changed(self, values: Mapping[str, Any]) -> Self:
        """The same path with the given values of a command; ValueError if they are no values."""
        try:
            return replace(
                self,
                delay_ms=float(values.get("delay_ms", self.delay_ms)),
                jitter_ms=float(values.get("jitter_ms", self.jitter_ms)),
                cut=bool(values.get("cut", self.cut)),
            )
        except TypeError as wrong:
            raise ValueError(str(wrong)) from None


@dataclass(frozen=True, slots=True)
class Route:
    """A door: connections to `listen` on loopback pass from `origin` to `place`, to `target`."""

    listen: int
    target: str
    origin: str
    place: str


class Table:
    """The paths between places; a pair that nobody set takes no time."""

    def __init__(self, paths: Mapping[tuple[str, str], Path]) -> None:
        self._paths = dict(paths)

    def path(self, origin: str, place: str) -> Path:
        """From one place to another, as it is now."""
        return self._paths.get((origin, place), Path())

    def set(self, origin: str, place: str, path: Path) -> None:
        """Change one direction."""
        self._paths[origin, place] = path

    def rows(self) -> list[dict[str, Any]]:
        """All that were set, as they are given."""
        return [
            {
                "from": origin,
                "to": place,
                "delay_ms": path.delay_ms,
                "jitter_ms": path.jitter_ms,
                "cut": path.cut,
            }
            for (origin, place), path in sorted(self._paths.items())
        ]

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """From rows as `rows` gives them."""
        return cls({(row["from"], row["to"]): Path().changed(row) for row in rows})
