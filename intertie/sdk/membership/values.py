"""Tokens, joins and identities as values. Instants are UTC milliseconds, 0 = not known."""

from dataclasses import dataclass, field
from enum import StrEnum

from intertie.api.federation.v1 import enrollment_service_pb2, join_pb2, region_service_pb2
from intertie.api.regional.v1 import enrollment_service_pb2 as regional_pb2
from intertie.pki.join.requests import JoinState
from intertie.pki.join.strings import Purpose
from intertie.wire.mapping import mapper


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinToken:
    """A token; `token` is the join string, known to its creator only."""

    name: str
    purpose: Purpose
    token: str = field(default="", repr=False)
    subject: str = ""
    expires_ms: int = 0
    max_uses: int = 1
    uses: int = 0
    pre_approved: bool = False
    networks: tuple[str, ...] = ()
    creator: str = ""
    created_ms: int = 0
    revoked: bool = False
    endpoints: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id without the collection."""
        return self.name.removeprefix("joinTokens/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A certificate with what must travel with it, as PEM."""

    cert_pem: bytes
    chain_pem: bytes = b""
    trust_pem: bytes = b""
    serial: str = ""
    expires_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationAccess:
    """What whoever joined must know of the federation."""

    trust_domain: str
    endpoints: tuple[str, ...] = ()
    grant_keys: tuple[str, ...] = ()
    witnesses: tuple[str, ...] = ()
    price_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Somebody's wish to join, and what became of it."""

    name: str
    purpose: Purpose
    state: JoinState | None = None
    subject: str = ""
    key_sha256: str = ""
    jurisdiction: str = ""
    hosts: tuple[str, ...] = ()
    software: str = ""
    address: str = ""
    inviter: str = ""
    created_ms: int = 0
    decided_ms: int = 0
    decider: str = ""
    reason: str = ""
    credentials: Credentials | None = None
    federation: FederationAccess | None = None

    @property
    def id(self) -> str:
        """The id without the collection."""
        return self.name.removeprefix("joins/")

    @property
    def region(self) -> str:
        """Of a region's join: its id."""
        return self.subject.removeprefix("spiffe://").partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrollment:
    """What a node is given."""

    subject: str
    credentials: Credentials | None = None
    region: str = ""
    trust_domain: str = ""
    jurisdiction: str = ""
    endpoints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ban:
    """An ID or a serial that may not act any more."""

    subject: str = ""
    serial: str = ""
    reason: str = ""
    banner: str = ""
    created_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedIdentity:
    """The newest certificate of a SPIFFE ID."""

    subject: str
    key_sha256: str = ""
    serial: str = ""
    issued_ms: int = 0
    expires_ms: int = 0
    banned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogKeyProof:
    """A region's signature by its log's key; see `pki.join.proof`."""

    region: str
    signed_ms: int
    signature: bytes


class DrainState(StrEnum):
    """How far a drain is."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """The emptying of a region. `deadline_ms` 0 = it waits for ever."""

    name: str
    state: DrainState
    guests: int = 0
    guests_left: int = 0
    guests_waited_for: int = 0
    deadline_ms: int = 0
    leave: bool = False
    reason: str = ""
    creator: str = ""
    created_ms: int = 0
    ended_ms: int = 0

    @property
    def region(self) -> str:
        """Id of the region."""
        return self.name.split("/")[1]

    @property
    def id(self) -> str:
        """The id without the collections."""
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhoAmI:
    """Who a server takes us for."""

    subject: str
    role: str
    project: str = ""
    region: str = ""
    serial: str = ""
    expires_ms: int = 0


TOKEN = mapper(JoinToken, join_pb2.JoinToken)
JOIN = mapper(Join, join_pb2.Join)
CREDENTIALS = mapper(Credentials, join_pb2.Credentials)
ENROLLMENT = mapper(Enrollment, regional_pb2.Enrollment)
BAN = mapper(Ban, enrollment_service_pb2.Ban)
IDENTITY = mapper(IssuedIdentity, enrollment_service_pb2.IssuedIdentity)
DRAIN = mapper(Drain, region_service_pb2.Drain)
WHO_AM_I = mapper(WhoAmI, enrollment_service_pb2.WhoAmIResponse)
