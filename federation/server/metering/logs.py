"""The metering logs that a caller may read, and what of each entry it may see.

Entries of other payers are opened as hashes only: enough to verify a log, nothing to learn
(metering.md). Origins and roles are decided here, nothing is stored.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Protocol

from federation.domain.region_record import RegionRecord
from federation.server.region.checks import origin_of
from intertie.errors import IntertieError, Reason, error
from intertie.metering import canonical
from intertie.metering.faults import MeteringError
from intertie.metering.log.note import Key
from intertie.metering.log.receipt import Receipt
from intertie.metering.log.witness import Decision
from intertie.metering.verify import region_of
from intertie.pki.identity import Identity
from intertie.pki.spiffe import Role

_OF_ONE_REGION = frozenset({Role.SCHEDULER, Role.OPERATOR})
_SEES_ALL = frozenset({Role.BILLING, Role.ADMIN})


class Head(Protocol):
    """How a log stands, see `federation.adapters.mirror.rows.LogHead`."""

    @property
    def mirrored(self) -> int:
        """Entries that are here."""
        ...

    @property
    def witnessed(self) -> bytes:
        """The newest cosigned note."""
        ...

    @property
    def published(self) -> bytes:
        """The newest cosigned note whose entries are all here."""
        ...

    @property
    def published_size(self) -> int:
        """Its size."""
        ...


class MeteringLogs(Protocol):
    """The mirror, see `federation.adapters.mirror.log.Mirror`."""

    async def head(self, origin: str) -> Head:
        """How a log stands."""
        ...

    async def push(self, origin: str, start: int, entries: Sequence[bytes]) -> int:
        """Mirror entries."""
        ...

    async def add_checkpoint(self, body: bytes) -> Decision:
        """Answer the witness's call."""
        ...

    def entries(
        self, origin: str, start: int, end: int
    ) -> AsyncIterator[tuple[int, Sequence[bytes]]]:
        """Published entries in pieces."""
        ...

    async def receipt(self, origin: str, seq: int) -> Receipt:
        """The proof of one entry."""
        ...


class Origins:
    """Which logs there are, and who may touch them.

    Args:
        regions: all regions that ever attached.
        trust_domain: the federation's.
    """

    def __init__(self, regions: Callable[[], Iterable[RegionRecord]], trust_domain: str) -> None:
        self._regions = regions
        self.trust_domain = trust_domain

    @property
    def regions(self) -> frozenset[str]:
        """The ids of all regions."""
        return frozenset(record.id for record in self._regions())

    def keys(self, origin: str) -> tuple[Key, ...]:
        """The believed keys of a log, the newest last; empty if it is unknown."""
        for record in self._regions():
            if origin_of(self.trust_domain, record.id) == origin:
                return tuple(Key.parse(vkey) for vkey in record.log_vkeys)
        return ()

    def known(self) -> list[str]:
        """All logs, by name."""
        return sorted(
            origin_of(self.trust_domain, record.id)
            for record in self._regions()
            if record.log_vkeys
        )

    def readable(self, origin: str, who: Identity) -> list[str]:
        """The logs that a request names: one, or all that the caller may read."""
        if origin:
            self.check_may_read(origin, who)
            return [origin]
        return [known for known in self.known() if _may_read(known, who)]

    def check_may_read(self, origin: str, who: Identity) -> None:
        """Refuse another region's log, and one that does not exist."""
        if not _may_read(origin, who):
            raise _denied(who, origin)
        if not self.keys(origin):
            raise error(
                Reason.NOT_FOUND,
                f"There is no log {origin[:200]}.",
                remedy="List regions; a log is known once its region has attached.",
                metadata={"resource": origin[:200]},
            )

    def own(self, who: Identity) -> str:
        """The log of the region that calls."""
        assert who.region is not None, "the table admits regions only"
        return origin_of(self.trust_domain, who.region)

    def check_own(self, origin: str, who: Identity) -> None:
        """Refuse a log that is not the calling region's own."""
        if origin != self.own(who):
            raise _denied(who, origin)


def visible(leaf: bytes, who: Identity) -> bool:
    """Whether a caller may read an entry, not only its hash."""
    if who.role in _SEES_ALL or who.role in _OF_ONE_REGION:  # origins are checked before
        return True
    if who.role is not Role.PROJECT:
        return False
    record = parsed(leaf)
    if record is None:
        return False
    payer = record.get("payer")
    if payer is not None and payer == record.get("region"):
        return False  # a region's own work is no project's, whatever the project is called
    return payer is None or who.project in (payer, record.get("project"))


def parsed(leaf: bytes) -> dict[str, Any] | None:
    """An entry as an object; None if it is none."""
    try:
        return dict(canonical.parse(leaf))
    except MeteringError:
        return None


def _may_read(origin: str, who: Identity) -> bool:
    return who.role not in _OF_ONE_REGION or region_of(origin) == who.region


def _denied(who: Identity, origin: str) -> IntertieError:
    return error(
        Reason.PERMISSION_DENIED,
        f"{who} may not touch the log {origin[:200]!r}; only its own region's.",
        remedy="Use the identity of that region.",
    )
