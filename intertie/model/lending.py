"""What an operator lends of a region, to whom and when; and what is taken back.

The policy belongs to the region: it decides, whatever the federation thinks. Amounts are of the
pool as a whole. A reclaim is a resource: it takes an amount out of what is lent, gives guests
notice, and stands until it is given back.
"""

from dataclasses import dataclass
from enum import StrEnum

from intertie.model.spec import Bytes, Milli, Millis

WHOLE = 1_000
"""A share of all, in thousandths."""
MINUTES_A_DAY = 1_440


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """An amount of a pool: cpu in thousandths of a core, memory in bytes, whole devices."""

    cpu: Milli = 0
    memory: Bytes = 0
    devices: int = 0

    def plus(self, other: "Quantity") -> "Quantity":
        """Both together."""
        return Quantity(
            cpu=self.cpu + other.cpu,
            memory=self.memory + other.memory,
            devices=self.devices + other.devices,
        )

    def less(self, other: "Quantity") -> "Quantity":
        """What is left of it, nothing less than nothing."""
        return Quantity(
            cpu=max(0, self.cpu - other.cpu),
            memory=max(0, self.memory - other.memory),
            devices=max(0, self.devices - other.devices),
        )

    def at_least(self, other: "Quantity") -> "Quantity":
        """The larger of both, in each."""
        return Quantity(
            cpu=max(self.cpu, other.cpu),
            memory=max(self.memory, other.memory),
            devices=max(self.devices, other.devices),
        )

    def share(self, thousandths: int) -> "Quantity":
        """A share of it, rounded down."""
        return Quantity(
            cpu=self.cpu * thousandths // WHOLE,
            memory=self.memory * thousandths // WHOLE,
            devices=self.devices * thousandths // WHOLE,
        )

    def covers(self, other: "Quantity") -> bool:
        """Whether the other is no more than this in anything."""
        return (
            other.cpu <= self.cpu and other.memory <= self.memory and other.devices <= self.devices
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """A time of the week at which the region lends, in UTC.

    `days` from 0 (Monday) to 6; minutes of the day. An end at or before the start is on the next
    day.
    """

    days: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    start_minute: int = 0
    end_minute: int = MINUTES_A_DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCap:
    """The most that one project holds at a time."""

    project: str
    most: Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Lending:
    """The policy. Empty lists allow everything; `longest_run` 0 = no bound.

    `share` of the pool less the `floor`, which is kept for native work, is lent. `caps` bound what
    one project holds at a time; `models` are the device models lent.
    """

    lends: bool = True
    share: Milli = WHOLE
    floor: Quantity = Quantity()
    models: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    caps: tuple[ProjectCap, ...] = ()
    kinds: tuple[str, ...] = ()
    data_classes: tuple[str, ...] = ()
    hours: tuple[Hours, ...] = ()
    longest_run: Millis = 0
    notice: Millis = 60_000
    revision: int = 0

    def cap(self, project: str) -> Quantity | None:
        """The bound on a project, None if it has none of its own."""
        return next((cap.most for cap in self.caps if cap.project == project), None)


class ReclaimState(StrEnum):
    """How far a reclaim is."""

    RECLAIMING = "RECLAIMING"
    RECLAIMED = "RECLAIMED"
    RETURNED = "RETURNED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaim:
    """An amount that the owner takes back. Instants in UTC ms, 0 = not yet.

    `deadline_ms` is how long guests may still hold it. `guests` runs were asked to go for it,
    `guests_left` must still go. It ends at `until_ms` by itself, if that is given.
    """

    name: str
    quantity: Quantity
    deadline_ms: int
    reason: str
    state: ReclaimState = ReclaimState.RECLAIMING
    created_ms: int = 0
    reclaimed_ms: int = 0
    returned_ms: int = 0
    until_ms: int = 0
    guests: int = 0
    guests_left: int = 0
