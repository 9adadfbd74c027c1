"""What joining stands on: the registry, the signer, what those who join are told.

A replica without a signer serves WhoAmI and bans, and says at every other method what is missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from federation.domain.region_record import RegionRecord
from federation.server.enrollment.signing import Signer
from intertie.api.federation.v1 import join_pb2 as pb
from intertie.errors import Reason, error
from intertie.model.states import RegionState
from intertie.pki.join.guesses import Guesses
from intertie.ports import Clock, IdSource
from intertie.store.enrollment.bans import BanList
from intertie.store.enrollment.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What whoever joins must know of the federation."""

    trust_domain: str
    endpoints: Sequence[str]
    join_endpoints: Sequence[str]
    grant_keys: Sequence[str]
    witnesses: Sequence[str]
    price_version: str

    def to_pb(self) -> pb.FederationAccess:
        """As a message."""
        return pb.FederationAccess(
            trust_domain=self.trust_domain,
            endpoints=self.endpoints,
            grant_keys=self.grant_keys,
            witnesses=self.witnesses,
            price_version=self.price_version,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """See the module's text. `record_of` gives what is durable about a region, None = unknown."""

    registry: Registry
    bans: BanList
    access: Access
    clock: Clock
    ids: IdSource
    record_of: Callable[[str], RegionRecord | None]
    signing: Signer | None = None
    guesses: Guesses = field(default_factory=Guesses)

    @property
    def signer(self) -> Signer:
        """The signer. Raises CONFIG_INVALID where there is none."""
        if self.signing is None:
            raise error(
                Reason.CONFIG_INVALID,
                "This replica holds no key to certify anybody with.",
                remedy="Set enrollment.ca_dir and enrollment.listen in its configuration.",
            )
        return self.signing

    def check_region(self, region: str) -> None:
        """Refuse a region that was removed: it stays so. Raises PERMISSION_DENIED."""
        record = self.record_of(region)
        if record is not None and record.state is RegionState.REMOVED:
            raise error(
                Reason.PERMISSION_DENIED,
                f"Region {region} was removed from the federation, for good.",
                remedy="Join under another id.",
                metadata={"region": region},
            )
