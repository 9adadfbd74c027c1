"""The ban list at rest: `bans/id/<SPIFFE ID>` and `bans/serial/<hex>` in the ledger.

Where that is etcd, every replica and region that follows it takes a ban over within a second, and
open streams are cut. Here it is written, listed, and taken over at once by this process.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from intertie.errors import IntertieError
from intertie.pki.bans import Bans
from intertie.store.codec import decoder, encode
from intertie.store.enrollment.ledger import Ledger
from intertie.store.etcd.port import Write

PREFIX = "bans/"
ID, SERIAL = "bans/id/", "bans/serial/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ban:
    """Why something is banned; one of `subject` and `serial` is set."""

    subject: str = ""
    serial: str = ""
    reason: str = ""
    banner: str = ""
    at_ms: int = 0


_ban = decoder(Ban)


class BanList:
    """See the module's text.

    Args:
        ledger: where it is kept.
        bans: what this process goes by.
    """

    def __init__(self, ledger: Ledger, bans: Bans) -> None:
        self._ledger = ledger
        self._bans = bans

    async def add(self, ban: Ban) -> Ban:
        """Ban, durably and then here at once. The first reason given stays."""
        assert bool(ban.subject) != bool(ban.serial), "an ID or a serial"
        key = ID + ban.subject if ban.subject else SERIAL + ban.serial
        standing = await self._ledger.get(key)
        if standing is None:
            await self._ledger.txn((), (Write(key, encode(ban)),), repeatable=True)
        self._bans.ban(
            ids=[ban.subject] if ban.subject else [], serials=[ban.serial] if ban.serial else []
        )
        return _standing(standing.value, ban) if standing is not None else ban

    async def load(self) -> None:
        """Take over what stands, for a ledger that nobody watches."""
        keys = [entry.key for entry in (await self._ledger.list(PREFIX)).entries]
        self._bans.ban(
            ids=[key.removeprefix(ID) for key in keys if key.startswith(ID)],
            serials=[key.removeprefix(SERIAL) for key in keys if key.startswith(SERIAL)],
        )

    async def all(self) -> Sequence[str]:
        """What is banned: SPIFFE IDs and serials."""
        keys = [entry.key for entry in (await self._ledger.list(PREFIX)).entries]
        return [key.rpartition(SERIAL)[2].removeprefix(ID) for key in keys]

    def covers(self, subject: str, serial: str) -> bool:
        """Whether an ID or a serial is banned, as far as this process knows."""
        return subject in self._bans.ids or serial in self._bans.serials


def _standing(value: bytes, ban: Ban) -> Ban:
    """The ban that stands; the new one where somebody wrote the key by hand."""
    try:
        return _ban(value)
    except IntertieError:
        return ban
