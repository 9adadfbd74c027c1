"""SPIFFE IDs of Intertie: strict parsing and printing, the role that a path stands for.

Follows the SPIFFE-ID standard, sections 2 and 2.1 to 2.3 (scheme, trust domain, path). Only the
shapes of the table below exist; anything else is refused, so no path can be read in two ways.
Must not touch certificates or files.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from intertie.errors import IntertieError, Reason, error

MAX_ID_BYTES = 2048
"""SPIFFE-ID section 2.3: implementations must support and may refuse more than 2048 bytes."""

_TRUST_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_REGION = re.compile(r"[a-z][a-z0-9-]{1,30}")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

RESERVED_REGIONS = frozenset({"federation", "admin", "project", "billing", "witness"})
"""A region of this name could issue host names of the federation's own identities."""


class Role(StrEnum):
    """What an identity may be. The path of its SPIFFE ID decides, nothing else."""

    FEDERATION = "federation"
    ADMIN = "admin"
    PROJECT = "project"
    BILLING = "billing"
    WITNESS = "witness"
    SCHEDULER = "scheduler"
    OPERATOR = "operator"
    NODE = "node"
    ANONYMOUS = "anonymous"
    """No certificate: only on a port that admits joining peers."""


_FEDERATION_PATHS: Mapping[str, Role] = {
    "federation": Role.FEDERATION,
    "admin": Role.ADMIN,
    "project": Role.PROJECT,
    "billing": Role.BILLING,
    "witness": Role.WITNESS,
}
_REGION_PATHS: Mapping[str, Role] = {
    "scheduler": Role.SCHEDULER,
    "operator": Role.OPERATOR,
    "node": Role.NODE,
}
_SEGMENTS: Mapping[Role, int] = {Role.SCHEDULER: 1, Role.PROJECT: 3}

SERVING_ROLES = frozenset({Role.FEDERATION, Role.SCHEDULER, Role.WITNESS})
"""Roles that accept connections; only their leaves may carry dialled host names."""


@dataclass(frozen=True, slots=True)
class SpiffeId:
    """One identity: `spiffe://<trust_domain>/<path>`, together with what it means."""

    trust_domain: str
    path: str
    role: Role
    name: str
    project: str | None = None
    region: str | None = None

    def __str__(self) -> str:
        return f"spiffe://{self.trust_domain}/{self.path}"

    @property
    def dns_name(self) -> str:
        """The DNS name that stands for this ID where only host names can be verified.

        The path read backwards below the trust domain, so a region's name constraint covers it.
        """
        return ".".join([*reversed(self.path.split("/")), self.trust_domain])

    @property
    def dns_names(self) -> tuple[str, ...]:
        """All DNS names of the ID: its own and, for a replica, the one all replicas share."""
        if self.role is Role.FEDERATION:
            return self.dns_name, federation_dns_name(self.trust_domain)
        return (self.dns_name,)


def federation_dns_name(trust_domain: str) -> str:
    """The name that any replica of the federation answers to."""
    return f"federation.{trust_domain}"


def region_trust_domain(region: str, trust_domain: str) -> str:
    """The trust domain of a region; refuses what is not a region id."""
    if not _REGION.fullmatch(region) or region in RESERVED_REGIONS:
        raise _invalid(f"region id {region!r}", "must match [a-z][a-z0-9-]{1,30} and be unreserved")
    return f"{region}.{check_trust_domain(trust_domain)}"


def check_trust_domain(trust_domain: str) -> str:
    """Return the trust domain if it is one, else raise IDENTITY_INVALID."""
    if len(trust_domain) > 255 or not _TRUST_DOMAIN.fullmatch(trust_domain):
        raise _invalid(f"trust domain {trust_domain!r}", "must be lower-case DNS labels")
    return trust_domain


def parse(text: str, federation: str) -> SpiffeId:
    """Parse an ID of the federation `federation` or one of its regions.

    Raises:
        IntertieError: IDENTITY_INVALID for anything that is not exactly one of the known shapes.
    """
    if len(text) > MAX_ID_BYTES:
        raise _invalid(f"SPIFFE ID of {len(text)} bytes", f"must have at most {MAX_ID_BYTES}")
    if not text.startswith("spiffe://"):
        raise _invalid(f"SPIFFE ID {text!r}", "must start with spiffe://")
    trust_domain, slash, path = text.removeprefix("spiffe://").partition("/")
    if not slash:
        raise _invalid(f"SPIFFE ID {text!r}", "must have a path")
    if trust_domain == federation:
        return _with_path(trust_domain, path, _FEDERATION_PATHS, region=None)
    region, dot, rest = trust_domain.partition(".")
    if not dot or rest != federation:
        raise _invalid(f"trust domain {trust_domain!r}", f"must be {federation} or a region of it")
    region_trust_domain(region, federation)
    return _with_path(trust_domain, path, _REGION_PATHS, region=region)


def _with_path(
    trust_domain: str, path: str, roles: Mapping[str, Role], region: str | None
) -> SpiffeId:
    segments = path.split("/")
    role = roles.get(segments[0])
    if role is None or len(segments) != _SEGMENTS.get(role, 2):
        raise _invalid(f"path /{path} in trust domain {trust_domain}", "stands for no role")
    for segment in segments[1:]:
        if not _NAME.fullmatch(segment):
            raise _invalid(
                f"path /{path}", "must have names of 1 to 63 of a-z, 0-9 and inner hyphens"
            )
    project = segments[1] if role is Role.PROJECT else None
    return SpiffeId(trust_domain, path, role, segments[-1], project, region)


def _invalid(what: str, rule: str) -> IntertieError:
    return error(
        Reason.IDENTITY_INVALID,
        f"{what}: {rule}.",
        remedy="Issue the certificate again for an ID that security.md lists.",
    )
