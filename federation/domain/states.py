"""What is decided about regions: admitted, cordoned, draining, left, removed.

The table is in `intertie.model.states`. A decision is durable before it is answered, and counts at
once: a region that is not ACTIVE gets no new task; one that LEFT or was REMOVED loses its link and
may not attach again, whatever it says and however late its words arrive. REMOVED is for good; LEFT
may be admitted again. What runs there is the drains' business, or that of silence.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from federation.domain.drains import CancelDrain, CreateDrain, Drain, Drains
from federation.domain.events import LinkDown
from federation.domain.payers import region_refusal
from federation.domain.region_record import RegionRecord
from intertie.drive.effects import Fail, Reply
from intertie.errors import IntertieError, Reason, error
from intertie.model.states import REGION_TRANSITIONS, RegionState

if TYPE_CHECKING:
    from federation.domain.core import FederationCore

_GONE = frozenset({RegionState.LEFT, RegionState.REMOVED})


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitRegion:
    """An administrator approved a region; it may attach from now on."""

    ticket: int
    region: str
    jurisdiction: str
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRegion:
    """Somebody decides about a region: ACTIVE, CORDONED or REMOVED."""

    ticket: int
    region: str
    to: RegionState
    reason: str
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HangUp:
    """Outward: end the region's link, for it may not be here any more."""

    region: str
    why: IntertieError


class States:
    """See the module's text."""

    def __init__(self, core: "FederationCore") -> None:
        self._core = core
        self.drains = Drains(core)

    def handle(self, event: object) -> bool:
        """Apply an event of this module; False if it is none."""
        match event:
            case AdmitRegion():
                self._admit(event)
            case ChangeRegion():
                self._change(event)
            case CreateDrain():
                self.drains.create(event)
            case CancelDrain():
                self.drains.cancel(event)
            case _:
                return False
        return True

    @property
    def deadline(self) -> int | None:
        """When there is something to look at, as boot_ns."""
        return self.drains.deadline

    def tick(self) -> None:
        """Look."""
        self.drains.tick()

    def load(self, value: object) -> None:
        """Take over a stored value, if it is ours."""
        if isinstance(value, Drain):
            self.drains.load(value)

    def _admit(self, event: AdmitRegion) -> None:
        """Make a region known; again is no harm."""
        core = self._core
        record = core.records.get(event.region)
        refused = gone(record) if record and record.state is RegionState.REMOVED else None
        refused = refused or self._elsewhere(record, event)
        refused = refused or region_refusal(event.region, core.projects | core.open.keys())
        if refused is not None:
            core.emit(Fail(event.ticket, refused))
            return
        if record is None:
            record = RegionRecord(
                id=event.region, jurisdiction=event.jurisdiction, joined_ms=core.now.utc_ms
            )
            core.write_region(replace(record, state_actor=event.actor, state_reason="approved"))
        elif record.state is RegionState.LEFT:
            self.set(record, RegionState.REQUESTED, "asks to join again", event.actor)
            record = core.records[event.region]
            self.set(record, RegionState.ACTIVE, "approved", event.actor)
        core.emit(Reply(event.ticket, core.records[event.region]))

    def _change(self, event: ChangeRegion) -> None:
        """Decide; the same decision again is no harm."""
        core = self._core
        record = core.records.get(event.region)
        if record is None:
            core.emit(Fail(event.ticket, unknown(event.region)))
            return
        if record.state is not event.to:
            if event.to not in REGION_TRANSITIONS[record.state]:
                core.emit(Fail(event.ticket, _wrong(record, event.to)))
                return
            self.set(record, event.to, event.reason, event.actor)
        core.emit(Reply(event.ticket, core.records[event.region]))

    def set(self, record: RegionRecord, to: RegionState, reason: str, actor: str) -> None:
        """Move a region to a state, with all that follows at once."""
        core = self._core
        assert self._core.records.get(record.id) is record, "a change of an outdated record"
        assert to in REGION_TRANSITIONS[record.state], f"region {record.state} -> {to}"
        after = replace(
            record, state=to, state_reason=reason, state_actor=actor, state_ms=core.now.utc_ms
        )
        core.write_region(after)
        if record.state is RegionState.DRAINING:
            self.drains.overtaken(record.id)
        member = core.fleet.members.get(record.id)
        if member is not None:
            core.fleet.update(member, state=to)
        if to in _GONE:
            why = gone(after)
            assert why is not None, "a region that is gone"
            self._shut_out(record.id)
            core.emit(HangUp(region=record.id, why=why))
            left = core.fleet.members.get(record.id)
            assert left is None or not left.link, "a region that is gone is heard no more"
        elif to is RegionState.ACTIVE:
            core.queue.hurry(core.now.boot_ns)

    def mark(self, region: str) -> None:
        """Tell the fleet what was decided about a region that just attached."""
        member = self._core.fleet.members[region]
        assert member.link, "only a region that has a link is marked"
        assert gone(self._core.records[region]) is None, "a region that is gone has attached"
        self._core.fleet.update(member, state=self._core.records[region].state)

    def _shut_out(self, region: str) -> None:
        """Hear nothing more by the link that stands, whatever is on its way."""
        member = self._core.fleet.members.get(region)
        if member is not None and member.link:
            self._core.regions.down(LinkDown(link=member.link, region=region))

    def _elsewhere(self, record: RegionRecord | None, event: AdmitRegion) -> IntertieError | None:
        if record is None or record.jurisdiction in ("", event.jurisdiction):
            return None
        return error(
            Reason.PERMISSION_DENIED,
            f"{event.region} asks to join in {event.jurisdiction}; it was in "
            f"{record.jurisdiction}.",
            remedy="A region is one site: another site joins under another id.",
            metadata={"region": event.region},
        )


def gone(record: RegionRecord | None) -> IntertieError | None:
    """Why a region may not attach: it left, or was removed."""
    if record is None or record.state not in _GONE:
        return None
    left = record.state is RegionState.LEFT
    return error(
        Reason.PERMISSION_DENIED,
        f"{record.id} {'left' if left else 'was removed from'} the federation"
        f" ({record.state_reason}).",
        remedy="Join again with a new token." if left else "Join under another region id.",
        metadata={"region": record.id, "state": record.state},
    )


def unknown(region: str) -> IntertieError:
    """NOT_FOUND for a region."""
    return error(
        Reason.NOT_FOUND,
        f"There is no regions/{region}.",
        remedy="List what there is (intertie region list).",
        metadata={"resource": f"regions/{region}"},
    )


def _wrong(record: RegionRecord, to: RegionState) -> IntertieError:
    allowed = ", ".join(sorted(REGION_TRANSITIONS[record.state])) or "nothing"
    return error(
        Reason.WRONG_STATE,
        f"regions/{record.id} is {record.state}; it cannot become {to}.",
        remedy=f"From {record.state} it can become: {allowed}.",
        metadata={"state": record.state},
    )
