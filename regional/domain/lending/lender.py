"""Holds guests to what is lent: one amount, and everybody above it leaves with notice.

Policy, hours and reclaims only change the amount; who must go follows from it alone. So a lowered
share, a closing hour and a reclaim are one thing, and a guest that comes late meets the same rule.
Native runs are never asked to go.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from intertie.drive.effects import Fail, Reply, Write
from intertie.errors import Reason, error, invalid
from intertie.model.lending import Lending, Quantity, Reclaim, ReclaimState
from intertie.model.pool import LendingTerms, Shape
from intertie.model.states import Outcome
from intertie.model.units import format_bytes
from regional.domain.events import CreateReclaim, ReturnReclaim, SetLending
from regional.domain.lending import rules
from regional.domain.lending.rules import Guest, Quota
from regional.domain.runs.run import RegionRun, StopOrder

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

LENDING, RECLAIM, POOL = "lending", "reclaim", "pool"
"""Kinds of rows: the policy (one row), reclaims, and how large the pool was (one row)."""
RECLAIMS = "reclaims"
"""The scope of all reclaims."""
ONLY = "only"
"""The key where a kind has one row."""
_SHARD = 0
_MS = 1_000_000
OWNER = "owner"
_EVERYTHING = Lending()


class Lender:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core
        self.policy = Lending()
        self.reclaims: dict[str, Reclaim] = {}
        self._known = Quantity()
        self._settled_ns = core.started_ns + core.timing.agent_lease_over_ms * _MS
        self._due_ns: int | None = self._settled_ns

    def load(self, row: Lending | Reclaim | Quantity) -> None:
        """Take up a stored row."""
        if isinstance(row, Lending):
            self.policy = row
        elif isinstance(row, Quantity):
            self._known = row
        elif row.state is not ReclaimState.RETURNED:
            self.reclaims[row.name] = row

    @property
    def deadline(self) -> int | None:
        """When the amount next changes by itself, as boot_ns."""
        return self._due_ns

    # --- what is lent ----------------------------------------------------------------------------

    def lent(self) -> Quantity:
        """What guests may hold together now."""
        taken = [reclaim.quantity for reclaim in self.reclaims.values()]
        return rules.lent(self.policy, self._pool(), taken, self._core.now.utc_ms)

    def quota(self) -> Quota | None:
        """What guests may take in addition now; None where everything is lent to everybody."""
        if not self.reclaims and replace(self.policy, revision=0) == _EVERYTHING:
            return None
        held, by_project = Quantity(), dict[str, Quantity]()
        for run in self._guests():
            holds = rules.holds(run.shape)
            held = held.plus(holds)
            by_project[run.project] = by_project.get(run.project, Quantity()).plus(holds)
        return Quota(self.policy, self.lent(), held, by_project)

    def terms(self) -> LendingTerms | None:
        """What the federation is told; None where everything is lent to everybody."""
        quota = self.quota()
        if quota is None:
            return None
        policy, now_ms = self.policy, self._core.now.utc_ms
        left = quota.amount.less(quota.held)
        return LendingTerms(
            open=policy.lends and rules.is_open(policy.hours, now_ms),
            projects=policy.projects,
            kinds=policy.kinds,
            data_classes=policy.data_classes,
            models=policy.models,
            longest_run_ms=policy.longest_run,
            closes_in_ms=max(0, rules.open_ms(policy.hours, now_ms)),
            left_cpu=left.cpu,
            left_memory=left.memory,
            left_devices=left.devices,
        )

    def shape(self, shape: Shape) -> Shape | None:
        """The shape of a guest with the devices that are lent; None if none of them is."""
        models = self.policy.models
        if not models or not shape.devices:
            return shape
        asked = shape.device_models
        both = tuple(m for m in models if m in asked) if asked else models
        return replace(shape, device_models=both) if both else None

    def attached(self) -> None:
        """A node came: how large the pool is outlives the process.

        Else a region that has just begun, and knows only its first node, would think that it lends
        too much and send guests away.
        """
        pool = self._attached()
        if not self._is_settled:
            pool = pool.at_least(self._known)
        if pool != self._known:
            self._known = pool
            self._core.emit(Write(_SHARD, POOL, ONLY, pool))

    def _pool(self) -> Quantity:
        return self._attached() if self._is_settled else self._attached().at_least(self._known)

    def _attached(self) -> Quantity:
        pool = Quantity()
        for node in self._core.nodes.values():
            has = node.hello.capability
            devices = sum(d.healthy for d in has.devices)
            pool = pool.plus(Quantity(cpu=has.cpu, memory=has.memory, devices=devices))
        return pool

    @property
    def _is_settled(self) -> bool:
        """Whether all nodes have had the time to attach since the start."""
        return self._core.now.boot_ns >= self._settled_ns

    def _guests(self) -> Iterable[RegionRun]:
        for held in self._core.held.values():
            yield from (run for run in held.runs.values() if not run.native)

    # --- the operator ----------------------------------------------------------------------------

    def ordered(self, event: SetLending | CreateReclaim | ReturnReclaim) -> None:
        """What the operator orders."""
        match event:
            case SetLending():
                self._set(event)
            case CreateReclaim():
                self._reclaim(event)
            case ReturnReclaim():
                self._give_back(event)

    def _set(self, event: SetLending) -> None:
        """Replace the policy, if it is still the one that the operator saw."""
        if event.revision not in (-1, self.policy.revision):
            message = f"The lending policy is at revision {self.policy.revision} now."
            remedy = "Read it again, and send your change on top of it."
            self._core.emit(Fail(event.ticket, error(Reason.ETAG_MISMATCH, message, remedy=remedy)))
            return
        self.policy = replace(event.policy, revision=self.policy.revision + 1)
        self._core.emit(Write(_SHARD, LENDING, ONLY, self.policy))
        self._core.reserve(event.request_id, event.request_digest, ONLY)
        self._core.emit(Reply(event.ticket, self.policy))
        self._look()

    def _reclaim(self, event: CreateReclaim) -> None:
        """Take an amount back; guests above what is left get notice."""
        core, pool = self._core, self._pool()
        if not pool.covers(event.quantity):
            has = f"{pool.devices} devices, {pool.cpu / 1000:g} cpu, {format_bytes(pool.memory)}"
            fault = invalid("quantity", f"is more than the pool has: {has}")
            core.emit(Fail(event.ticket, fault))
            return
        made = Reclaim(
            name=event.name,
            quantity=event.quantity,
            deadline_ms=event.deadline_ms,
            reason=event.reason,
            created_ms=core.now.utc_ms,
            until_ms=core.now.utc_ms + event.for_ms if event.for_ms else 0,
        )
        self.reclaims[made.name] = made
        core.reserve(event.request_id, event.request_digest, made.name)
        going = self._ask_to_go(event.reason, made)
        made = replace(made, guests=going, guests_left=going)
        self.reclaims[made.name] = made
        self._keep(made)
        self._follow()
        core.emit(Reply(event.ticket, self.reclaims[made.name]))
        self._schedule()
        core.scheduling.freed()

    def _give_back(self, event: ReturnReclaim) -> None:
        """End a reclaim: the amount is lent again."""
        reclaim = self.reclaims.get(event.name)
        if reclaim is None:
            message = f"{event.name[:80]} does not stand."
            self._core.emit(Fail(event.ticket, error(Reason.NOT_FOUND, message)))
            return
        self._core.reserve(event.request_id, event.request_digest, event.name)
        self._core.emit(Reply(event.ticket, self._returned(reclaim)))
        self._schedule()

    def _returned(self, reclaim: Reclaim) -> Reclaim:
        assert reclaim.state is not ReclaimState.RETURNED, "it is given back once"
        after = replace(
            reclaim, state=ReclaimState.RETURNED, returned_ms=self._core.now.utc_ms, guests_left=0
        )
        del self.reclaims[reclaim.name]
        self._keep(after)
        self._core.scheduling.freed()
        return after

    # --- keeping to it ---------------------------------------------------------------------------

    def tick(self) -> None:
        """Hours begin and end, and reclaims end by themselves."""
        if self._due_ns is None or self._core.now.boot_ns < self._due_ns:
            return
        for reclaim in list(self.reclaims.values()):
            if reclaim.until_ms and reclaim.until_ms <= self._core.now.utc_ms:
                self._returned(reclaim)
        self._look()

    def _look(self) -> None:
        """The amount may have changed: who is above it must go."""
        self._ask_to_go("the region lends less now", None)
        self._follow()
        self._schedule()
        self._core.scheduling.freed()

    def left(self) -> None:
        """A placed run ended: reclaims may be complete."""
        if self.reclaims:
            self._follow()

    def _ask_to_go(self, reason: str, reclaim: Reclaim | None) -> int:
        """Stop whoever must go; returns how many are going for it."""
        core = self._core
        placed = {run.key: run for run in self._guests()}
        chosen = rules.victims([self._guest(run) for run in placed.values()], self.lent())
        notice_ms = self.policy.notice
        if reclaim is not None:
            notice_ms = min(notice_ms, max(0, reclaim.deadline_ms - core.timing.kill_ms))
        order = StopOrder(
            outcome=Outcome.RECLAIMED, reason=reason, cause=OWNER, notice_ms=notice_ms
        )
        assert not any(placed[key].native for key in chosen), "native runs never go"
        for key in chosen:
            core.downward.stop(placed[key], order)
        return len(chosen)

    def _guest(self, run: RegionRun) -> Guest:
        """A run that is being stopped goes anyway, so it costs nothing more."""
        running_ms = self._core.now.utc_ms - run.started_ms if run.started_ms else 0
        unsaved_ms = 0 if run.stop is not None else max(0, running_ms - run.kept_ms)
        return Guest(run.key, run.project, rules.holds(run.shape), unsaved_ms)

    def _follow(self) -> None:
        """Bring the state of the reclaims up to date."""
        if not any(r.state is ReclaimState.RECLAIMING for r in self.reclaims.values()):
            return
        guests = [self._guest(run) for run in self._guests()]
        above = len(rules.victims(guests, self.lent()))
        for reclaim in list(self.reclaims.values()):
            if reclaim.state is not ReclaimState.RECLAIMING:
                continue
            after = replace(reclaim, guests_left=above)
            if not above:
                after = replace(
                    after, state=ReclaimState.RECLAIMED, reclaimed_ms=self._core.now.utc_ms
                )
            if after != reclaim:
                self.reclaims[after.name] = after
                self._keep(after)

    def _keep(self, reclaim: Reclaim) -> None:
        order = f"{reclaim.created_ms:015d}.{reclaim.name}"
        self._core.emit(Write(_SHARD, RECLAIM, reclaim.name, reclaim, RECLAIMS, order))

    def _schedule(self) -> None:
        now = self._core.now
        dues = [r.until_ms for r in self.reclaims.values() if r.until_ms]
        change = rules.next_change_ms(self.policy.hours, now.utc_ms)
        if change is not None:
            dues.append(change)
        due_ms = min(dues, default=None)
        due_ns = None if due_ms is None else now.boot_ns + max(1, due_ms - now.utc_ms) * _MS
        if not self._is_settled:
            due_ns = min(due_ns or self._settled_ns, self._settled_ns)
        self._due_ns = due_ns
