"""Who a peer is, as read from its certificate. A value; how it is read is in `check`."""

from dataclasses import dataclass

from intertie.pki.spiffe import Role, SpiffeId


@dataclass(frozen=True, slots=True)
class Identity:
    """A peer's identity. `serial` is lower-case hex without leading zeros, instants are UTC."""

    spiffe_id: SpiffeId | None
    role: Role
    project: str | None
    region: str | None
    name: str
    serial: str
    not_before_ms: int
    not_after_ms: int

    def __str__(self) -> str:
        return str(self.spiffe_id) if self.spiffe_id else Role.ANONYMOUS.value

    @classmethod
    def of(
        cls, spiffe_id: SpiffeId, *, serial: str, not_before_ms: int, not_after_ms: int
    ) -> "Identity":
        """The identity that a certificate with this ID gives."""
        return cls(
            spiffe_id=spiffe_id,
            role=spiffe_id.role,
            project=spiffe_id.project,
            region=spiffe_id.region,
            name=spiffe_id.name,
            serial=serial,
            not_before_ms=not_before_ms,
            not_after_ms=not_after_ms,
        )


FOREVER_MS = 2**62

ANONYMOUS = Identity(
    spiffe_id=None,
    role=Role.ANONYMOUS,
    project=None,
    region=None,
    name="",
    serial="",
    not_before_ms=0,
    not_after_ms=FOREVER_MS,
)
"""A peer without a certificate. The authorization table admits it to joining only."""
