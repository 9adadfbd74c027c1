"""What is durable about a region: that it joined, where it is, its log keys, its longest lease.

A region is one site (contract.md): where it is cannot change under its name, for runs and data were
sent there because of it.
"""

from dataclasses import dataclass, replace

from intertie.errors import IntertieError, Reason, error
from intertie.model.link import RegionHello
from intertie.model.states import RegionState


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRecord:
    """A region that was admitted or has attached. Instants in UTC ms.

    `log_vkeys` are the keys of its metering log, the newest last; none is ever taken away.
    `lease_ms` is the longest lease that it may hold: it grows before such a lease is granted, and
    shrinks when every longer one is over.
    """

    id: str
    state: RegionState = RegionState.ACTIVE
    jurisdiction: str = ""
    software: str = ""
    log_vkeys: tuple[str, ...] = ()
    joined_ms: int = 0
    seen_ms: int = 0
    lease_ms: int = 0
    state_reason: str = ""
    state_actor: str = ""
    state_ms: int = 0


def refusal(record: RegionRecord | None, hello: RegionHello) -> IntertieError | None:
    """Why a hello is not believed: the region had another log key, or was elsewhere, before."""
    if record is None:
        return None
    if record.log_vkeys and hello.log_vkey not in ("", *record.log_vkeys):
        return error(
            Reason.PERMISSION_DENIED,
            f"{hello.region} comes with another log key than it had.",
            remedy="Restore the region's log key; a log that starts anew under a name is a fork.",
            metadata={"region": hello.region},
        )
    if record.jurisdiction and hello.jurisdiction != record.jurisdiction:
        return error(
            Reason.PERMISSION_DENIED,
            f"{hello.region} says that it is in {hello.jurisdiction}; "
            f"it joined in {record.jurisdiction}.",
            remedy=f"Set its jurisdiction back to {record.jurisdiction}; "
            "another site joins under another region id.",
            metadata={
                "region": hello.region,
                "jurisdiction": hello.jurisdiction,
                "joined_in": record.jurisdiction,
            },
        )
    return None


def attached(before: RegionRecord | None, hello: RegionHello, now_ms: int) -> RegionRecord:
    """The record after a hello."""
    assert refusal(before, hello) is None, "a hello that is not believed"
    record = before or RegionRecord(id=hello.region, joined_ms=now_ms)
    assert record.id == hello.region, "a record of another region"
    keys = record.log_vkeys
    if hello.log_vkey and hello.log_vkey not in keys:
        keys = (*keys, hello.log_vkey)
    return replace(
        record,
        jurisdiction=hello.jurisdiction,
        software=hello.software,
        log_vkeys=keys,
        seen_ms=now_ms,
    )
