"""The regions as this replica sees them: links, leases, summaries, reachability.

Everything here is observed, nothing is durable: a restarted replica does not know when it granted a
lease, so it counts the longest one that it ever granted to a region (which is durable, see
`region_record`) as granted at its own start (safety.md: a restarted grantor waits L_max).
"""

from dataclasses import dataclass, replace

from intertie.model.link import RegionHello
from intertie.model.pool import Summary
from intertie.model.states import Reachability, RegionState
from intertie.ports import Now
from intertie.values import changed

MS = 1_000_000
"""Nanoseconds of a millisecond."""

_NOT_ROUTED = frozenset({"heard_ns", "digest", "digest_ns", "lost_ns", "unknown"})
"""Fields of a member that change often and that no verdict looks at."""
_LOAD = frozenset({"inflight"})
"""What every send changes: candidate sets follow it without judging anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Intervals in ms, see the configuration for what each is for."""

    lease_ms: int = 600_000
    delta_ms: int = 1_000
    drift: float = 1e-3
    unknown_after_ms: int = 15_000
    offer_wait_ms: int = 1_000
    hold_ms: int = 3_000
    summary_max_age_ms: int = 30_000
    digest_every_ms: int = 60_000

    def lease_over_ms(self, lease_ms: int) -> int:
        """How long after granting a lease its grantor may act as if it were over."""
        return int(lease_ms * (1 + 2 * self.drift)) + self.delta_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One region. Instants in boot_ns. `link` 0 = not attached."""

    hello: RegionHello
    link: int
    heard_ns: int
    lost_ns: int = 0
    summary: Summary | None = None
    summary_ns: int = 0
    digest: int = 0
    digest_ns: int = 0
    inflight: int = 0
    unknown: bool = False
    state: RegionState = RegionState.ACTIVE

    @property
    def reachability(self) -> Reachability:
        """What is observed of the region."""
        if self.link:
            return Reachability.REACHABLE
        return Reachability.UNKNOWN if self.unknown else Reachability.OUT_OF_TOUCH


class Fleet:
    """All members by region id.

    Args:
        started: when this life of the replica began.
        timing: intervals.
    """

    def __init__(self, started: Now, timing: Timing) -> None:
        self.members: dict[str, Member] = {}
        self.started_ns = started.boot_ns
        self._timing = timing
        self._touched: set[str] = set()
        self._loaded: set[str] = set()
        self._lease_over: dict[str, int] = {}

    def attach(self, link: int, hello: RegionHello, now: Now) -> Member:
        """A region said hello; an earlier link of it counts no more."""
        assert link > 0, "0 means that there is no link"
        before = self.members.get(hello.region)
        assert before is None or link > before.link, "links are numbered in their order"
        member = Member(hello=hello, link=link, heard_ns=now.boot_ns)
        if before is not None and before.hello.incarnation == hello.incarnation:
            member = replace(member, summary=before.summary, summary_ns=before.summary_ns)
        self.members[hello.region] = member
        self.touch(hello.region)
        return member

    def detach(self, link: int, region: str) -> bool:
        """A stream ended; false if a newer one has taken its place.

        The region is out of touch since it was last heard, which a frozen one was long before.
        """
        member = self.members.get(region)
        if member is None or member.link != link:
            return False
        self.update(member, link=0, lost_ns=member.heard_ns)
        return True

    def update(self, member: Member, **changes: object) -> Member:
        """Replace a member by a changed one."""
        assert self.members.get(member.hello.region) is member, "a change of an outdated member"
        after = changed(member, **changes)
        self.members[member.hello.region] = after
        if changes.keys() == _LOAD:
            self._loaded.add(member.hello.region)
        elif not changes.keys() <= _NOT_ROUTED:
            self.touch(member.hello.region)
        return after

    def touch(self, region: str) -> None:
        """Something of a region changed that routing looks at."""
        if region in self.members:
            self._touched.add(region)

    def take_touched(self) -> tuple[list[str], list[str]]:
        """The regions that changed since this was last asked, and those of which only the sends
        under way did; each in the order of their ids.
        """
        touched, loaded = sorted(self._touched), sorted(self._loaded - self._touched)
        self._touched.clear()
        self._loaded.clear()
        return touched, loaded

    def link_of(self, region: str) -> int:
        """The number of the region's link, 0 if it has none."""
        member = self.members.get(region)
        return member.link if member is not None else 0

    def granted_before(self, region: str, lease_ms: int) -> None:
        """An earlier life granted leases of up to this length, the last just before it ended."""
        self._granted(region, self.started_ns, max(lease_ms, self._timing.lease_ms))

    def granted(self, region: str, now: Now) -> None:
        """A lease is granted; an earlier, longer one may still outlive it."""
        self._granted(region, now.boot_ns, self._timing.lease_ms)

    def may_reassign_at(self, region: str) -> int:
        """The boot_ns from which no run of the region that obeys its lease can still live."""
        over_ns = self._lease_over.get(region)
        if over_ns is None:
            return self.started_ns + self._timing.lease_over_ms(self._timing.lease_ms) * MS
        return over_ns

    def _granted(self, region: str, at_ns: int, lease_ms: int) -> None:
        over_ns = at_ns + self._timing.lease_over_ms(lease_ms) * MS
        self._lease_over[region] = max(over_ns, self.may_reassign_at(region))

    def lost_since(self, region: str) -> int | None:
        """Since when the region is out of touch (boot_ns), None if it is attached."""
        member = self.members.get(region)
        if member is None:
            return self.started_ns
        return None if member.link else member.lost_ns
