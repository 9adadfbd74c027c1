"""Slots: small numbers that tell the live runs of a node apart (users, ports).

Given out round robin, so that what a run may have left under its user's name outside of its own
folders is not the next run's at once.
"""


class Slots:
    """Numbers 0 to count-1; a number is free again when its run is forgotten."""

    def __init__(self, count: int) -> None:
        assert count > 0, "a node without slots can run nothing"
        self._count = count
        self._taken: set[int] = set()
        self._last = -1

    def next(self) -> int | None:
        """Take a free slot, None if there is none."""
        for step in range(1, self._count + 1):
            slot = (self._last + step) % self._count
            if slot not in self._taken:
                self.take(slot)
                return slot
        return None

    def take(self, slot: int) -> None:
        """Take a given slot, of a run that was loaded; it may be of a larger pool than today's."""
        assert slot >= 0, f"slot {slot} is none"
        assert slot not in self._taken, f"slot {slot} is taken twice"
        self._taken.add(slot)
        self._last = slot

    def give_back(self, slot: int) -> None:
        """The run is forgotten."""
        assert slot in self._taken, f"slot {slot} is not taken"
        self._taken.remove(slot)
