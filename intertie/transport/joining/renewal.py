"""Renews an identity in time: a fresh key between half and two thirds of a certificate's life.

The files change, and everything follows by itself: servers offer the new leaf at the next
handshake, `Channels` open anew and close the old ones. Must not know who issues: that is `ask`.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

from cryptography import x509

from intertie.errors import IntertieError
from intertie.pki.authority import Authority
from intertie.pki.issue import Issued, create_csr, issue, public_key_of_csr
from intertie.pki.join.pending import PENDING, key_at
from intertie.pki.load import IdentityDirectory, write_identity
from intertie.pki.profile import renew_at_ms
from intertie.ports import Clock
from intertie.telemetry.logs import logger

LOOK_S = 5.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0

Ask = Callable[[bytes], Awaitable[Issued]]
"""Gets a certificate for a CSR. Raises why not."""

_log = logger(__name__)


class Renewal:
    """See the module's text. For one event loop.

    Args:
        identity: what is renewed.
        ask: who issues.
        clock: decides what is due.
        rng: spreads renewals.
        look_s: how often to look.
    """

    def __init__(
        self,
        identity: IdentityDirectory,
        ask: Ask,
        clock: Clock,
        rng: random.Random,
        *,
        look_s: float = LOOK_S,
    ) -> None:
        self._identity = identity
        self._ask = ask
        self._clock = clock
        self._rng = rng
        self._look_s = look_s
        self._due: tuple[str, int] = ("", 0)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the background."""
        assert self._task is None, "started once"
        self._task = asyncio.create_task(self._run(), name="certificate renewal")

    async def stop(self) -> None:
        """Stop; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    @property
    def due_ms(self) -> int:
        """When the present certificate is to be renewed, UTC; drawn once for each."""
        own = self._identity.current.identity
        if self._due[0] != own.serial:
            self._due = (own.serial, renew_at_ms(own.not_before_ms, own.not_after_ms, self._rng))
        return self._due[1]

    async def renew(self) -> None:
        """Renew now. Raises why it cannot be; the present certificate stays."""
        path = self._identity.path
        key, _ = await asyncio.to_thread(key_at, path / PENDING)
        issued = await self._ask(create_csr(key))
        await asyncio.to_thread(write_identity, path, key, issued)
        await asyncio.to_thread((path / PENDING).unlink, missing_ok=True)
        self._identity.refresh()

    async def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            if self._clock.now().utc_ms < self.due_ms:
                await asyncio.sleep(self._look_s)
                continue
            try:
                await self.renew()
                pause_s = FIRST_PAUSE_S
                own = self._identity.current.identity
                _log.info("certificate renewed", identity=str(own), serial=own.serial)
            except (IntertieError, OSError) as problem:
                left_s = (self._identity.current.identity.not_after_ms - self._now_ms) // 1000
                _log.warning("certificate not renewed", problem=str(problem), left_s=left_s)
                await asyncio.sleep(pause_s * (0.5 + self._rng.random()))
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    @property
    def _now_ms(self) -> int:
        return self._clock.now().utc_ms


def self_renewal(
    identity: IdentityDirectory,
    authority: Authority,
    clock: Clock,
    rng: random.Random,
    look_s: float = LOOK_S,
) -> Renewal:
    """Renews the leaf of a process that holds its own CA, with the hosts that it has now."""

    async def ask(csr_pem: bytes) -> Issued:
        own = identity.current
        assert own.identity.spiffe_id is not None, "a leaf on disk has an ID"
        key = public_key_of_csr(csr_pem)
        hosts = hosts_of(own.cert_pem)
        return await asyncio.to_thread(
            issue, authority, own.identity.spiffe_id, key, clock.now(), hosts=hosts
        )

    return Renewal(identity, ask, clock, rng, look_s=look_s)


def hosts_of(cert_pem: bytes) -> tuple[str, ...]:
    """The host names and addresses of a leaf."""
    cert = x509.load_pem_x509_certificate(cert_pem)
    names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = names.get_values_for_type(x509.IPAddress)
    return (*names.get_values_for_type(x509.DNSName), *map(str, addresses))
