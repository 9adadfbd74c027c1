"""What can be wrong with a metering log, as machine-readable words.

Every parser and check of this package raises `MeteringError` with one `Fault`; `verify` collects
them as findings. The words are printed by the command line and read by billing systems: they are
never renamed. Nothing here decides what to do about a fault.
"""

from collections.abc import Mapping
from enum import StrEnum

from intertie.errors import PeerError, Reason


class Fault(StrEnum):
    """Reasons of a failed verification (metering.md, "Reading and verifying")."""

    BAD_NOTE = "bad_note"
    UNKNOWN_ORIGIN = "unknown_origin"
    BAD_LOG_SIG = "bad_log_sig"
    QUORUM_NOT_MET = "quorum_not_met"
    STALE_CHECKPOINT = "stale_checkpoint"
    ROLLBACK = "rollback"
    FORK = "fork"
    ROOT_MISMATCH = "root_mismatch"
    NON_CANONICAL = "non_canonical"
    SEQ_GAP = "seq_gap"
    DUPLICATE_RID = "duplicate_rid"
    NO_GRANT = "no_grant"
    OVER_GRANT = "over_grant"
    OVERLAP = "overlap"
    BAD_ADJUSTMENT = "bad_adjustment"
    CLOCK_ANOMALY = "clock_anomaly"
    LATE = "late"
    BAD_PROOF = "bad_proof"


_REASONS: Mapping[Fault, Reason] = {
    Fault.ROLLBACK: Reason.LOG_FORK,
    Fault.FORK: Reason.LOG_FORK,
    Fault.ROOT_MISMATCH: Reason.LOG_FORK,
    Fault.QUORUM_NOT_MET: Reason.NOT_COSIGNED,
    Fault.NO_GRANT: Reason.GRANT_INVALID,
    Fault.OVER_GRANT: Reason.GRANT_INVALID,
}


class MeteringError(PeerError):
    """A record, proof, note, grant or log that does not hold.

    Args:
        fault: what is wrong, for machines.
        message: what is wrong, for people; names the field, the value expected and the value got.
        remedy: what to do about it.
    """

    def __init__(self, fault: Fault, message: str, *, remedy: str = "") -> None:
        reason = _REASONS.get(fault, Reason.INVALID_FIELD)
        super().__init__(reason, message, remedy=remedy, metadata={"fault": fault.value})
        self.fault = fault
