"""The error catalogue: what can go wrong, whose fault it is, and how it is told.

One table from reason to gRPC code, CLI exit code and blame. A test pins catalogue = enum = docs.
Blame is a type: `CallerError` (fix the request), `PeerError` (another process broke the protocol),
`WorldError` (try again, or repair the machine). Our own bugs are assertions, never in this file.
Pure: codes are named by text, `intertie.transport` turns them into gRPC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

DOMAIN = "intertie"
"""`domain` of google.rpc.ErrorInfo in every error of Intertie."""


class Reason(StrEnum):
    """Machine-readable reasons (`ErrorInfo.reason`). Never renamed, never reused."""

    INVALID_FIELD = "INVALID_FIELD"
    UNKNOWN_FIELD = "UNKNOWN_FIELD"
    SPEC_CONTRADICTION = "SPEC_CONTRADICTION"
    TOO_LARGE = "TOO_LARGE"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    TOKEN_INVALID = "TOKEN_INVALID"  # noqa: S105 - the name of a reason, not a secret
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    NO_MATCHING_REGION = "NO_MATCHING_REGION"
    WRONG_STATE = "WRONG_STATE"
    ETAG_MISMATCH = "ETAG_MISMATCH"
    RESIDENCY_VIOLATION = "RESIDENCY_VIOLATION"
    STALE_TOKEN = "STALE_TOKEN"  # noqa: S105 - the name of a reason, not a secret
    GRANT_INVALID = "GRANT_INVALID"
    NOT_LENT = "NOT_LENT"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    IDENTITY_INVALID = "IDENTITY_INVALID"
    CERTIFICATE_EXPIRED = "CERTIFICATE_EXPIRED"
    CLOCK_SKEW = "CLOCK_SKEW"
    JOIN_TOKEN_INVALID = "JOIN_TOKEN_INVALID"  # noqa: S105 - the name of a reason, not a secret
    JOIN_REJECTED = "JOIN_REJECTED"
    BANNED = "BANNED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    SESSION_TAKEN = "SESSION_TAKEN"
    VERSION_UNSUPPORTED = "VERSION_UNSUPPORTED"
    RATE_LIMITED = "RATE_LIMITED"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    DIGEST_MISMATCH = "DIGEST_MISMATCH"
    OFFSET_MISMATCH = "OFFSET_MISMATCH"
    REGION_OUT_OF_TOUCH = "REGION_OUT_OF_TOUCH"
    NODE_OUT_OF_TOUCH = "NODE_OUT_OF_TOUCH"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    NOT_OWNER = "NOT_OWNER"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    UNREACHABLE = "UNREACHABLE"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    NOT_COSIGNED = "NOT_COSIGNED"
    LOG_FORK = "LOG_FORK"
    CONFIG_INVALID = "CONFIG_INVALID"
    STATE_DIR_NEWER = "STATE_DIR_NEWER"
    STATE_DIR_IN_USE = "STATE_DIR_IN_USE"
    PORT_IN_USE = "PORT_IN_USE"
    INTERNAL = "INTERNAL"


class Exit:
    """Exit codes of the command line (contract.md)."""

    OK = 0
    ERROR = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    UNAVAILABLE = 5
    DENIED = 6
    CONFLICT = 7
    TASK_FAILED = 10
    TASK_CANCELLED = 11
    TASK_PARKED = 12
    TASK_TIMED_OUT = 13


class Blame(StrEnum):
    """Who must act for the error to go away."""

    CALLER = "caller"
    PEER = "peer"
    WORLD = "world"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the catalogue."""

    code: str
    exit: int
    blame: Blame
    meaning: str


_C, _P, _W = Blame.CALLER, Blame.PEER, Blame.WORLD
_ARG, _PRE = "INVALID_ARGUMENT", "FAILED_PRECONDITION"

CATALOGUE: Mapping[Reason, Entry] = {
    Reason.INVALID_FIELD: Entry(_ARG, Exit.USAGE, _C, "A field has a value that is not allowed."),
    Reason.UNKNOWN_FIELD: Entry(_ARG, Exit.USAGE, _C, "A field does not exist; nearest is named."),
    Reason.SPEC_CONTRADICTION: Entry(_ARG, Exit.USAGE, _C, "Fields of a spec exclude each other."),
    Reason.TOO_LARGE: Entry(_ARG, Exit.USAGE, _C, "A value or message is over its limit."),
    Reason.REQUEST_ID_REUSED: Entry(
        "ALREADY_EXISTS", Exit.CONFLICT, _C, "The request_id was used with another payload."
    ),
    Reason.TOKEN_INVALID: Entry(
        _ARG, Exit.USAGE, _C, "A page or watch token was altered or made for other arguments."
    ),
    Reason.NOT_FOUND: Entry("NOT_FOUND", Exit.NOT_FOUND, _C, "There is no such resource."),
    Reason.ALREADY_EXISTS: Entry("ALREADY_EXISTS", Exit.CONFLICT, _C, "The name is taken."),
    Reason.NO_MATCHING_REGION: Entry(
        _PRE, Exit.REFUSED, _C, "No region could ever run this (asked for by fail_if_unmatched)."
    ),
    Reason.WRONG_STATE: Entry(_PRE, Exit.CONFLICT, _C, "The resource's state does not allow it."),
    Reason.ETAG_MISMATCH: Entry("ABORTED", Exit.CONFLICT, _C, "The resource changed meanwhile."),
    Reason.RESIDENCY_VIOLATION: Entry(_PRE, Exit.REFUSED, _C, "Data may not go there."),
    Reason.STALE_TOKEN: Entry(_PRE, Exit.CONFLICT, _P, "A newer run replaced this one."),
    Reason.GRANT_INVALID: Entry(_PRE, Exit.REFUSED, _P, "The federation's grant does not hold."),
    Reason.NOT_LENT: Entry(_PRE, Exit.REFUSED, _P, "The region does not lend this."),
    Reason.UNAUTHENTICATED: Entry("UNAUTHENTICATED", Exit.DENIED, _C, "No client certificate."),
    Reason.IDENTITY_INVALID: Entry(
        "UNAUTHENTICATED", Exit.DENIED, _C, "The certificate is no valid SPIFFE identity."
    ),
    Reason.CERTIFICATE_EXPIRED: Entry(
        "UNAUTHENTICATED", Exit.DENIED, _C, "The certificate is not valid now."
    ),
    Reason.CLOCK_SKEW: Entry(
        "UNAUTHENTICATED", Exit.DENIED, _C, "The two clocks are over 10 minutes apart."
    ),
    Reason.JOIN_TOKEN_INVALID: Entry(
        "PERMISSION_DENIED",
        Exit.DENIED,
        _C,
        "The join token is unknown, used or expired.",
    ),
    Reason.JOIN_REJECTED: Entry(
        "FAILED_PRECONDITION", Exit.REFUSED, _C, "An administrator refused the request to join."
    ),
    Reason.BANNED: Entry("PERMISSION_DENIED", Exit.DENIED, _C, "The identity is banned."),
    Reason.PERMISSION_DENIED: Entry("PERMISSION_DENIED", Exit.DENIED, _C, "The role may not."),
    Reason.SESSION_TAKEN: Entry(
        _PRE, Exit.CONFLICT, _P, "Another live process has this region's or node's identity."
    ),
    Reason.VERSION_UNSUPPORTED: Entry(_PRE, Exit.ERROR, _P, "The versions do not interoperate."),
    Reason.RATE_LIMITED: Entry("RESOURCE_EXHAUSTED", Exit.UNAVAILABLE, _C, "Too many calls."),
    Reason.QUOTA_EXCEEDED: Entry("RESOURCE_EXHAUSTED", Exit.REFUSED, _C, "A quota is used up."),
    Reason.DIGEST_MISMATCH: Entry(_ARG, Exit.ERROR, _C, "Bytes do not have the digest named."),
    Reason.OFFSET_MISMATCH: Entry(
        "OUT_OF_RANGE", Exit.ERROR, _C, "An upload or read is at another offset."
    ),
    Reason.REGION_OUT_OF_TOUCH: Entry(
        "UNAVAILABLE", Exit.UNAVAILABLE, _W, "The region cannot be reached now."
    ),
    Reason.NODE_OUT_OF_TOUCH: Entry(
        "UNAVAILABLE", Exit.UNAVAILABLE, _W, "The node cannot be reached now."
    ),
    Reason.STORE_UNAVAILABLE: Entry(
        "UNAVAILABLE", Exit.UNAVAILABLE, _W, "The store did not confirm; retry with the same id."
    ),
    Reason.NOT_OWNER: Entry("UNAVAILABLE", Exit.UNAVAILABLE, _W, "Another replica owns the shard."),
    Reason.SHUTTING_DOWN: Entry("UNAVAILABLE", Exit.UNAVAILABLE, _W, "The process is stopping."),
    Reason.UNREACHABLE: Entry("UNAVAILABLE", Exit.UNAVAILABLE, _W, "The server is unreachable."),
    Reason.DEADLINE_EXCEEDED: Entry(
        "DEADLINE_EXCEEDED", Exit.UNAVAILABLE, _W, "The call did not end in time."
    ),
    Reason.NOT_COSIGNED: Entry(
        _PRE, Exit.REFUSED, _W, "The record is not under a cosigned log checkpoint yet."
    ),
    Reason.LOG_FORK: Entry("DATA_LOSS", Exit.ERROR, _P, "A log shows two different histories."),
    Reason.CONFIG_INVALID: Entry(_ARG, Exit.USAGE, _C, "The configuration is not usable."),
    Reason.STATE_DIR_NEWER: Entry(
        _PRE, Exit.ERROR, _C, "The state was written by a newer version."
    ),
    Reason.STATE_DIR_IN_USE: Entry(
        _PRE, Exit.CONFLICT, _C, "Another process uses the state directory."
    ),
    Reason.PORT_IN_USE: Entry(_PRE, Exit.CONFLICT, _C, "The port is taken."),
    Reason.INTERNAL: Entry("INTERNAL", Exit.ERROR, _W, "A fault of Intertie itself."),
}


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One field at fault: its path (`resources.cpu`, `data[2].uri`) and what is wrong with it."""

    field: str
    description: str


class IntertieError(Exception):
    """An error that is told to somebody.

    Args:
        reason: the line of the catalogue.
        message: one sentence that names the thing at fault.
        remedy: what to do about it, as an imperative sentence.
        fields: fields at fault, for google.rpc.BadRequest.
        metadata: machine-readable facts, for google.rpc.ErrorInfo.
        retry_after_ms: when a retry makes sense, for google.rpc.RetryInfo.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        remedy: str = "",
        fields: Sequence[FieldViolation] = (),
        metadata: Mapping[str, str] | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.reason = reason
        self.message = message
        self.remedy = remedy
        self.fields = tuple(fields)
        self.metadata = dict(metadata or {})
        self.retry_after_ms = retry_after_ms

    @property
    def entry(self) -> Entry:
        """The line of the catalogue."""
        return CATALOGUE[self.reason]


class CallerError(IntertieError):
    """The request is at fault; the same request will fail again."""


class PeerError(IntertieError):
    """Another process broke the protocol or acts on an old right."""


class WorldError(IntertieError):
    """Something is broken or away for now; the same request may work later."""


_TYPES: Mapping[Blame, type[IntertieError]] = {
    Blame.CALLER: CallerError,
    Blame.PEER: PeerError,
    Blame.WORLD: WorldError,
}


def error(
    reason: Reason,
    message: str,
    *,
    remedy: str = "",
    fields: Sequence[FieldViolation] = (),
    metadata: Mapping[str, str] | None = None,
    retry_after_ms: int | None = None,
) -> IntertieError:
    """Make an error of the type that the catalogue's blame asks for."""
    return _TYPES[CATALOGUE[reason].blame](
        reason,
        message,
        remedy=remedy,
        fields=fields,
        metadata=metadata,
        retry_after_ms=retry_after_ms,
    )


def invalid(field: str, description: str, *, remedy: str = "") -> IntertieError:
    """INVALID_FIELD for one field path."""
    return error(
        Reason.INVALID_FIELD,
        f"{field}: {description}",
        remedy=remedy,
        fields=[FieldViolation(field, description)],
    )
