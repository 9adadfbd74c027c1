"""The lending policy as pure rules: is it lent now, to whom, how much, and who must go.

One amount, `lent`, follows from the policy, the hours and the reclaims that stand. Guests that hold
more than it are asked to leave, those first whose going loses the least work.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from intertie.model.lending import MINUTES_A_DAY, Hours, Lending, Quantity
from intertie.model.pool import Shape
from intertie.model.spec import TaskSpec

_MINUTE_MS = 60_000
_DAY_MS = MINUTES_A_DAY * _MINUTE_MS
_FIRST_DAY = 3
"""1970-01-01 was a Thursday."""
_WEEK_DAYS = 7


@dataclass(frozen=True, slots=True)
class Guest:
    """A placed run of a guest: what it holds and the work that would be lost with it."""

    key: str
    project: str
    holds: Quantity
    unsaved_ms: int


def holds(shape: Shape) -> Quantity:
    """What a run of this shape holds."""
    return Quantity(cpu=shape.cpu, memory=shape.memory, devices=shape.devices)


def is_open(hours: Sequence[Hours], utc_ms: int) -> bool:
    """Whether the region lends at this time."""
    return not hours or any(_covers(span, utc_ms) for span in hours)


def open_ms(hours: Sequence[Hours], utc_ms: int) -> int:
    """For how long it still lends: 0 = closed, -1 = without an end in the next week."""
    if not is_open(hours, utc_ms):
        return 0
    change = next_change_ms(hours, utc_ms)
    return -1 if change is None else change - utc_ms


def next_change_ms(hours: Sequence[Hours], utc_ms: int) -> int | None:
    """When the region next begins or ends to lend; None if never."""
    now = is_open(hours, utc_ms)
    day = utc_ms // _DAY_MS * _DAY_MS
    edges = sorted(
        edge
        for span in hours
        for at in range(-1, _WEEK_DAYS + 1)
        for minute in (span.start_minute, span.end_minute)
        if (edge := day + at * _DAY_MS + minute * _MINUTE_MS) > utc_ms
    )
    return next((edge for edge in edges if is_open(hours, edge) is not now), None)


def lent(policy: Lending, pool: Quantity, taken: Iterable[Quantity], utc_ms: int) -> Quantity:
    """What guests may hold together now: the share, less the floor, less what was taken back."""
    if not policy.lends or not is_open(policy.hours, utc_ms):
        return Quantity()
    left = pool.less(policy.floor)
    shared = pool.share(policy.share)
    amount = Quantity(
        cpu=min(left.cpu, shared.cpu),
        memory=min(left.memory, shared.memory),
        devices=min(left.devices, shared.devices),
    )
    for quantity in taken:
        amount = amount.less(quantity)
    return amount


def refusal(policy: Lending, spec: TaskSpec, project: str) -> str:
    """Why a task is not lent to, whatever is free; empty if it is."""
    if not policy.lends:
        return "the region does not lend now"
    if policy.projects and project not in policy.projects:
        return f"the region does not lend to {project}"
    if policy.kinds and spec.kind not in policy.kinds:
        return f"the region lends to {', '.join(policy.kinds)}, not to {spec.kind}"
    data_class = spec.residency.data_class
    if policy.data_classes and data_class and data_class not in policy.data_classes:
        return f"the region takes no data of class {data_class}"
    if policy.longest_run and not 0 < spec.run.timeout <= policy.longest_run:
        bound = policy.longest_run // 1000
        return f"the region lends for {bound} s at most: set run.timeout to that or less"
    return ""


@dataclass(slots=True)
class Quota:
    """What guests may still take in one pass over the queue, together and by project."""

    policy: Lending
    amount: Quantity
    held: Quantity
    by_project: dict[str, Quantity]

    def units(self, project: str, shape: Shape, most: int) -> int:
        """How many runs of a shape a project may take in addition, `most` at most."""
        left = self.amount.less(self.held)
        cap = self.policy.cap(project)
        own = cap.less(self.by_project.get(project, Quantity())) if cap is not None else left
        bounds = [
            min(left_, own_) // taken
            for left_, own_, taken in (
                (left.cpu, own.cpu, shape.cpu),
                (left.memory, own.memory, shape.memory),
                (left.devices, own.devices, shape.devices),
            )
            if taken
        ]
        return min(most, *bounds)

    def take(self, project: str, shape: Shape) -> None:
        """One run of the project is placed."""
        assert self.units(project, shape, 1) == 1, "guests hold no more than is lent"
        self.held = self.held.plus(holds(shape))
        own = self.by_project.get(project, Quantity())
        self.by_project[project] = own.plus(holds(shape))


def victims(guests: Sequence[Guest], amount: Quantity) -> Sequence[str]:
    """Who must go so that the others hold no more than the amount, the cheapest first.

    Cost = work since the last checkpoint, for what the going gives back of what is over.
    """
    left = list(guests)
    held = Quantity()
    for guest in left:
        held = held.plus(guest.holds)
    gone: list[str] = []
    while left and not amount.covers(held):
        over = held.less(amount)
        chosen = min(
            (g for g in left if _relief(g.holds, over) > 0),
            key=lambda g: (g.unsaved_ms / _relief(g.holds, over), g.key),
        )
        left.remove(chosen)
        held = held.less(chosen.holds)
        gone.append(chosen.key)
    assert amount.covers(held), "those who stay hold no more than the amount"
    return gone


def _relief(holds_: Quantity, over: Quantity) -> float:
    """The part of what is over that would be given back, from 0 to 3."""
    parts = (
        (holds_.cpu, over.cpu),
        (holds_.memory, over.memory),
        (holds_.devices, over.devices),
    )
    return sum(min(has, need) / need for has, need in parts if need)


def _covers(span: Hours, utc_ms: int) -> bool:
    day, minute = utc_ms // _DAY_MS, utc_ms % _DAY_MS // _MINUTE_MS
    weekday = (day + _FIRST_DAY) % _WEEK_DAYS
    if span.start_minute < span.end_minute:
        return weekday in span.days and span.start_minute <= minute < span.end_minute
    yesterday = (weekday - 1) % _WEEK_DAYS
    return (weekday in span.days and minute >= span.start_minute) or (
        yesterday in span.days and minute < span.end_minute
    )
