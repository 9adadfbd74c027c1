"""A client's own certificate, renewed in time by the server that it talks to.

People's certificates live 12 hours and clients may live longer. Must not fail a call: a renewal
that does not work is tried again, and that the certificate has ended is told when it has.
"""

import asyncio
import random

import grpc.aio

from intertie.api.federation.v1 import enrollment_service_pb2 as pb
from intertie.api.federation.v1.enrollment_service_pb2_grpc import EnrollmentServiceStub
from intertie.api.regional.v1 import enrollment_service_pb2 as regional_pb
from intertie.api.regional.v1.enrollment_service_pb2_grpc import (
    EnrollmentServiceStub as RegionalEnrollmentServiceStub,
)
from intertie.errors import IntertieError
from intertie.pki.issue import Issued
from intertie.pki.load import IdentityDirectory
from intertie.pki.spiffe import Role
from intertie.ports import Clock
from intertie.transport.channels import Channels
from intertie.transport.failure import error_from_rpc
from intertie.transport.joining.renewal import Renewal
from intertie.wire.join import issued_from_pb

LOOK_S = 1.0
AGAIN_S = 60.0
FINISH_S = 5.0
"""For how long closing waits for a renewal that is under way."""

_AT_FEDERATION = frozenset({Role.PROJECT, Role.ADMIN, Role.BILLING, Role.WITNESS})


class OwnRenewal:
    """See the module's text. For one event loop.

    Args:
        identity: ours.
        channels: of it.
        target: host:port of the server.
        server_name: the name that it proves.
        clock: decides what is due.
    """

    def __init__(
        self,
        identity: IdentityDirectory,
        channels: Channels,
        target: str,
        server_name: str,
        clock: Clock,
    ) -> None:
        self._identity = identity
        self._channels = channels
        self._target = target
        self._server_name = server_name
        self._clock = clock
        rng = random.Random()  # noqa: S311 - spreads renewals, no secret
        self._renewal = Renewal(identity, self._ask, clock, rng)
        self._task: asyncio.Task[None] | None = None
        self._busy = False

    def start(self) -> None:
        """Begin to look, if this server could have issued what we have."""
        if self._task is None and self._is_issuer():
            self._task = asyncio.create_task(self._run(), name="own renewal")

    async def close(self) -> None:
        """Let a renewal that is under way end, and stop."""
        if self._task is None:
            return
        if self._busy:
            await asyncio.wait([self._task], timeout=FINISH_S)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    async def _run(self) -> None:
        while True:
            if self._clock.now().utc_ms < self._renewal.due_ms:
                await asyncio.sleep(LOOK_S)
                continue
            self._busy = True
            try:
                await self._renewal.renew()
                self._channels.refresh()
            except (IntertieError, OSError):
                self._busy = False
                await asyncio.sleep(AGAIN_S)
            finally:
                self._busy = False

    def _is_issuer(self) -> bool:
        own = self._identity.current.identity
        regional = self._server_name.startswith("scheduler.")
        return own.role is Role.OPERATOR if regional else own.role in _AT_FEDERATION

    async def _ask(self, csr_pem: bytes) -> Issued:
        channels, where = self._channels, (self._target, self._server_name)
        try:
            if self._identity.current.identity.role is Role.OPERATOR:
                regional = channels.stub(*where, RegionalEnrollmentServiceStub)
                return issued_from_pb(
                    await regional.Renew(regional_pb.RenewRequest(csr_pem=csr_pem))
                )
            stub = channels.stub(*where, EnrollmentServiceStub)
            request = pb.RenewCertificateRequest(csr_pem=csr_pem)
            return issued_from_pb(await stub.RenewCertificate(request))
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure
