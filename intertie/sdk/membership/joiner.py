"""The client of somebody who joins: no certificate, the server known by the pin in the token.

Every call may be repeated with the same key; a lost answer locks nobody out.
"""

from collections.abc import Sequence
from typing import Any, Self

import grpc.aio

from intertie.api.federation.v1 import enrollment_service_pb2 as pb
from intertie.api.federation.v1.enrollment_service_pb2_grpc import EnrollmentServiceStub
from intertie.api.regional.v1 import enrollment_service_pb2 as regional_pb
from intertie.api.regional.v1.enrollment_service_pb2_grpc import (
    EnrollmentServiceStub as RegionalEnrollmentServiceStub,
)
from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason, error
from intertie.pki.join.strings import JoinString, Purpose, parse_join_string
from intertie.pki.spiffe import federation_dns_name, parse, region_trust_domain
from intertie.ports import Clock
from intertie.sdk.membership.values import ENROLLMENT, JOIN, Enrollment, Join, LogKeyProof
from intertie.transport.channel import open_channel
from intertie.transport.credentials import anonymous_credentials
from intertie.transport.failure import error_from_rpc
from intertie.transport.joining.pinning import Pinned, fetch_pinned
from intertie.transport.versions import PROTOCOL_MAX, PROTOCOL_MIN, software

_OTHER_NAME = "Hostname Verification"
"""In what gRPC says of a server that proves another name than the one that was asked for."""


class Joiner:
    """See the module's text. For one event loop; close it.

    Args:
        token: the join string, taken apart.
        pinned: the server's root.
        channel: to the joining port.
        endpoint: where that is.
    """

    def __init__(
        self, token: JoinString, pinned: Pinned, channel: grpc.aio.Channel, endpoint: str
    ) -> None:
        self.token = token
        self.endpoint = endpoint
        self.pinned = pinned
        self._channel = channel

    @classmethod
    async def open(cls, endpoint: str, text: str, *, clock: Clock | None = None) -> Self:
        """Get to know the server.

        Raises:
            IntertieError: INVALID_FIELD for the token, UNREACHABLE, IDENTITY_INVALID for a server
                with another root than the token names.
        """
        return await cls._open(endpoint, parse_join_string(text), clock)

    @classmethod
    async def open_pinned(cls, endpoint: str, pin: str, *, clock: Clock | None = None) -> Self:
        """Get to know the federation again, by the root that was trusted before."""
        nothing = JoinString("", Purpose.REGION, "", pin, b"")
        return await cls._open(endpoint, nothing, clock)

    @classmethod
    async def _open(cls, endpoint: str, token: JoinString, clock: Clock | None) -> Self:
        pinned = await fetch_pinned(endpoint, token.pin)
        name = server_name(token, pinned.trust_domain)
        credentials = anonymous_credentials(pinned.root_pem)
        channel = open_channel(endpoint, name, credentials, clock or SystemClock())
        return cls(token, pinned, channel, endpoint)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()

    @property
    def software(self) -> str:
        """The version that we say we are."""
        return software()

    async def request_join(
        self,
        csr_pem: bytes = b"",
        *,
        jurisdiction: str = "",
        hosts: Sequence[str] = (),
        check: bool = False,
    ) -> Join:
        """Redeem the token for a key; with `check` only ask whether it would be accepted."""
        request = pb.RequestJoinRequest(
            token=self.token.reveal(),
            csr_pem=csr_pem,
            jurisdiction=jurisdiction,
            hosts=hosts,
            software=software(),
            protocol_min=PROTOCOL_MIN,
            protocol_max=PROTOCOL_MAX,
            validate_only=check,
        )
        stub = EnrollmentServiceStub(self._channel)
        return JOIN.from_pb(await self._told(stub.RequestJoin(request)))

    async def rejoin(
        self, csr_pem: bytes, proof: LogKeyProof, *, hosts: Sequence[str] = ()
    ) -> Join:
        """Have a region's key certified by the proof that it is the region."""
        request = pb.RequestJoinRequest(
            csr_pem=csr_pem,
            hosts=hosts,
            software=software(),
            protocol_min=PROTOCOL_MIN,
            protocol_max=PROTOCOL_MAX,
            log_key_proof=pb.LogKeyProof(
                region=proof.region, signed_ms=proof.signed_ms, signature=proof.signature
            ),
        )
        stub = EnrollmentServiceStub(self._channel)
        return JOIN.from_pb(await self._told(stub.RequestJoin(request)))

    async def get_join(self) -> Join:
        """How far the join of this token is."""
        request = pb.GetJoinRequest(name=f"joins/{self.token.token_id}", token=self.token.reveal())
        return JOIN.from_pb(await self._told(EnrollmentServiceStub(self._channel).GetJoin(request)))

    async def enroll(self, node: str, csr_pem: bytes = b"", *, check: bool = False) -> Enrollment:
        """Redeem a node token, at the region that made it."""
        request = regional_pb.EnrollRequest(
            token=self.token.reveal(),
            node=node,
            csr_pem=csr_pem,
            software=software(),
            protocol_min=PROTOCOL_MIN,
            protocol_max=PROTOCOL_MAX,
            validate_only=check,
        )
        stub = RegionalEnrollmentServiceStub(self._channel)
        return ENROLLMENT.from_pb(await self._told(stub.Enroll(request)))

    async def _told(self, call: Any) -> Any:  # noqa: ANN401 - the method's answer
        try:
            return await call
        except grpc.aio.AioRpcError as failure:
            if _OTHER_NAME in (failure.details() or ""):
                raise _elsewhere(self.token, self.endpoint) from failure
            raise error_from_rpc(failure) from failure


def _elsewhere(token: JoinString, endpoint: str) -> IntertieError:
    """The server is of this federation, and not the one that the token is for."""
    made = f"region {token.region}" if token.region else "the federation"
    return error(
        Reason.IDENTITY_INVALID,
        f"{endpoint} is not a server of {made}, which made the token.",
        remedy="Give the --endpoint that `intertie token create` printed with the token.",
    )


def server_name(token: JoinString, trust_domain: str) -> str:
    """The DNS name that the server must prove: any replica's, or that of the node's region."""
    if token.purpose is not Purpose.NODE:
        return federation_dns_name(trust_domain)
    domain = region_trust_domain(token.region, trust_domain)
    return parse(f"spiffe://{domain}/scheduler", trust_domain).dns_name
