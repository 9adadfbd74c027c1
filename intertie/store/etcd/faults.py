"""The ways in which etcd lets its caller down, as lines of the error catalogue.

Must not know grpc: `channels` and `client` translate status codes into these.
"""

from intertie.errors import PeerError, Reason, WorldError
from intertie.store.etcd.port import Entry


class EtcdUnavailableError(WorldError):
    """No member answered in time, and nothing was changed."""

    def __init__(self, doing: str, cause: str, *, remedy: str = "") -> None:
        super().__init__(
            Reason.STORE_UNAVAILABLE,
            f"etcd did not {doing}: {cause}",
            remedy=remedy or "Check that a majority of the etcd members runs and can be reached.",
        )


class OutcomeUnknownError(EtcdUnavailableError):
    """A write was sent and its answer lost: it may have been applied. Read before writing again."""

    def __init__(self, doing: str, cause: str) -> None:
        super().__init__(doing, cause, remedy="It may have been applied: read the key again.")


class LeaseGoneError(WorldError):
    """The lease has ended; its keys are deleted. Register again."""

    def __init__(self, lease: int) -> None:
        super().__init__(
            Reason.STORE_UNAVAILABLE,
            f"etcd lease {lease:x} has ended.",
            remedy="Register again under a new lease.",
        )


class EtcdRefusedError(WorldError):
    """etcd answered and said no: out of space, access denied, a malformed request."""

    def __init__(self, doing: str, cause: str) -> None:
        super().__init__(
            Reason.STORE_UNAVAILABLE,
            f"etcd refused to {doing}: {cause}",
            remedy="Check etcd's alarms, its space quota and the rights of this certificate.",
        )


class SessionTakenError(PeerError):
    """Another live incarnation has the key. `holder` is what stands there."""

    def __init__(self, holder: Entry, incarnation: str) -> None:
        super().__init__(
            Reason.SESSION_TAKEN,
            f"{holder.key} is held by another live incarnation, {incarnation!r}.",
            remedy="Stop the other process, or wait until its lease has ended.",
            metadata={"key": holder.key, "incarnation": incarnation},
        )
        self.holder = holder
        self.incarnation = incarnation
