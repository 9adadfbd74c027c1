"""IntertieError <-> google.rpc.Status (AIP-193), without loss: an error reads the same everywhere.

The text is for people and ends with the remedy; programs read `ErrorInfo.reason`. The remedy also
stands alone in ErrorInfo.metadata under `remedy`. Must not decide how an error is sent.
"""

from google.protobuf.any_pb2 import Any
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode

from intertie.errors import DOMAIN, FieldViolation, IntertieError, Reason, error

REMEDY = "remedy"
_NUMBERS = {code.name: code.value[0] for code in StatusCode}
_NAMES = {code.value[0]: code.name for code in StatusCode}

FALLBACK: dict[str, Reason] = {
    "CANCELLED": Reason.UNREACHABLE,
    "INVALID_ARGUMENT": Reason.INVALID_FIELD,
    "DEADLINE_EXCEEDED": Reason.DEADLINE_EXCEEDED,
    "NOT_FOUND": Reason.NOT_FOUND,
    "ALREADY_EXISTS": Reason.ALREADY_EXISTS,
    "PERMISSION_DENIED": Reason.PERMISSION_DENIED,
    "RESOURCE_EXHAUSTED": Reason.RATE_LIMITED,
    "FAILED_PRECONDITION": Reason.WRONG_STATE,
    "ABORTED": Reason.ETAG_MISMATCH,
    "OUT_OF_RANGE": Reason.OFFSET_MISMATCH,
    "UNIMPLEMENTED": Reason.VERSION_UNSUPPORTED,
    "UNAVAILABLE": Reason.UNREACHABLE,
    "DATA_LOSS": Reason.LOG_FORK,
    "UNAUTHENTICATED": Reason.UNAUTHENTICATED,
}
"""What a code means when the peer gave no reason of ours; anything else is INTERNAL."""


def status_of(problem: IntertieError) -> status_pb2.Status:
    """The status that tells an error."""
    metadata = dict(problem.metadata)
    if problem.remedy:
        metadata[REMEDY] = problem.remedy
    details: list[Message] = [
        error_details_pb2.ErrorInfo(reason=problem.reason.value, domain=DOMAIN, metadata=metadata)
    ]
    if problem.fields:
        details.append(_bad_request(problem))
    if problem.entry.code == "FAILED_PRECONDITION":
        details.append(_precondition(problem))
    if problem.reason is Reason.QUOTA_EXCEEDED:
        details.append(_quota(problem))
    if problem.retry_after_ms is not None:
        details.append(_retry(problem.retry_after_ms))
    status = status_pb2.Status(code=_NUMBERS[problem.entry.code], message=str(problem))
    for detail in details:
        status.details.add().Pack(detail)
    return status


def error_of(status: status_pb2.Status) -> IntertieError:
    """The error that a status tells; a reason that we do not know falls back to its code's."""
    info = error_details_pb2.ErrorInfo()
    fields: list[FieldViolation] = []
    retry_after_ms: int | None = None
    for detail in status.details:
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            _unpack(detail, info)
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            bad = error_details_pb2.BadRequest()
            _unpack(detail, bad)
            fields += [FieldViolation(v.field, v.description) for v in bad.field_violations]
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            retry = error_details_pb2.RetryInfo()
            _unpack(detail, retry)
            retry_after_ms = retry.retry_delay.ToMilliseconds()
    metadata = dict(info.metadata)
    remedy = metadata.pop(REMEDY, "")
    return error(
        _reason(info, status, metadata),
        status.message.removesuffix(remedy).rstrip(),
        remedy=remedy,
        fields=fields,
        metadata=metadata,
        retry_after_ms=retry_after_ms,
    )


def _reason(
    info: error_details_pb2.ErrorInfo, status: status_pb2.Status, metadata: dict[str, str]
) -> Reason:
    if info.domain == DOMAIN and info.reason in Reason.__members__:
        return Reason(info.reason)
    if info.reason:
        metadata.setdefault("peer_reason", info.reason)
    return FALLBACK.get(_NAMES.get(status.code, "UNKNOWN"), Reason.INTERNAL)


def _unpack(detail: Any, into: Message) -> None:
    # A peer that sends broken details still told its code and message.
    try:
        detail.Unpack(into)
    except DecodeError:
        into.Clear()


def _bad_request(problem: IntertieError) -> error_details_pb2.BadRequest:
    bad = error_details_pb2.BadRequest()
    for violation in problem.fields:
        bad.field_violations.add(field=violation.field, description=violation.description)
    return bad


def _precondition(problem: IntertieError) -> error_details_pb2.PreconditionFailure:
    failure = error_details_pb2.PreconditionFailure()
    failure.violations.add(
        type=problem.reason.value,
        subject=problem.metadata.get("resource", ""),
        description=problem.message,
    )
    return failure


def _quota(problem: IntertieError) -> error_details_pb2.QuotaFailure:
    failure = error_details_pb2.QuotaFailure()
    failure.violations.add(
        subject=problem.metadata.get("resource", ""), description=problem.message
    )
    return failure


def _retry(after_ms: int) -> error_details_pb2.RetryInfo:
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(after_ms)
    return retry
