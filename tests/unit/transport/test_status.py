"""Errors as google.rpc.Status: a round trip loses nothing, a stranger's status is understood."""

from collections.abc import Mapping
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.any_pb2 import Any as AnyPb
from google.rpc import error_details_pb2, status_pb2
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import CATALOGUE, DOMAIN, FieldViolation, Reason, error
from intertie.transport.failure import error_from_rpc
from intertie.transport.status import FALLBACK, error_of, status_of

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
KEYS = st.from_regex(r"[a-z_]{1,20}", fullmatch=True).filter(lambda key: key != "remedy")


@given(
    reason=st.sampled_from(Reason),
    message=WORDS,
    remedy=st.one_of(st.just(""), WORDS),
    fields=st.lists(st.builds(FieldViolation, WORDS, WORDS), max_size=3),
    metadata=st.dictionaries(KEYS, WORDS, max_size=3),
    retry=st.one_of(st.none(), st.integers(0, 10**9)),
)
def test_an_error_survives_the_wire(
    reason: Reason,
    message: str,
    remedy: str,
    fields: list[FieldViolation],
    metadata: dict[str, str],
    retry: int | None,
) -> None:
    sent = error(
        reason, message, remedy=remedy, fields=fields, metadata=metadata, retry_after_ms=retry
    )
    wire = status_pb2.Status.FromString(status_of(sent).SerializeToString())
    got = error_of(wire)
    assert (got.reason, got.message, got.remedy) == (reason, message, remedy)
    assert (got.fields, got.metadata, got.retry_after_ms) == (tuple(fields), metadata, retry)
    assert type(got) is type(sent)
    assert str(got) == str(sent)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_code_that_grpc_knows(reason: Reason) -> None:
    status = status_of(error(reason, "x"))
    assert status.code == grpc.StatusCode[CATALOGUE[reason].code].value[0]
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (info.domain, info.reason) == (DOMAIN, reason.value)


def test_failed_preconditions_and_quotas_have_their_details() -> None:
    told = status_of(error(Reason.WRONG_STATE, "ended.", metadata={"resource": "projects/p"}))
    failure = error_details_pb2.PreconditionFailure()
    assert told.details[1].Unpack(failure)
    assert failure.violations[0].type == "WRONG_STATE"
    assert failure.violations[0].subject == "projects/p"
    told = status_of(error(Reason.QUOTA_EXCEEDED, "full.", metadata={"resource": "projects/p"}))
    quota = error_details_pb2.QuotaFailure()
    assert told.details[1].Unpack(quota)
    assert quota.violations[0].subject == "projects/p"


def test_a_reason_from_a_newer_version_keeps_its_name() -> None:
    status = status_pb2.Status(code=grpc.StatusCode.NOT_FOUND.value[0], message="gone")
    status.details.add().Pack(error_details_pb2.ErrorInfo(domain=DOMAIN, reason="NEW_ONE"))
    got = error_of(status)
    assert got.reason is Reason.NOT_FOUND
    assert got.metadata == {"peer_reason": "NEW_ONE"}


def test_a_reason_of_another_domain_is_not_ours() -> None:
    status = status_pb2.Status(code=grpc.StatusCode.UNAVAILABLE.value[0], message="away")
    status.details.add().Pack(error_details_pb2.ErrorInfo(domain="other", reason="BANNED"))
    assert error_of(status).reason is Reason.UNREACHABLE


def test_broken_details_leave_code_and_message() -> None:
    status = status_pb2.Status(code=grpc.StatusCode.ABORTED.value[0], message="changed")
    broken = AnyPb(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff\xff")
    status.details.append(broken)
    got = error_of(status)
    assert (got.reason, got.message) == (Reason.ETAG_MISMATCH, "changed")


def rpc_error(
    code: grpc.StatusCode, details: str, trailing: Mapping[str, bytes] | None = None
) -> grpc.aio.AioRpcError:
    metadata: Any = grpc.aio.Metadata(*(trailing or {}).items())
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), metadata, details)


@pytest.mark.parametrize("code", list(grpc.StatusCode))
def test_every_bare_code_becomes_an_error(code: grpc.StatusCode) -> None:
    got = error_from_rpc(rpc_error(code, "why"))
    assert got.reason is FALLBACK.get(code.name, Reason.INTERNAL)
    assert got.message == "why"


def test_a_failed_handshake_points_at_certificates() -> None:
    text = "Ssl handshake failed: SSL_ERROR_SSL: CERTIFICATE_VERIFY_FAILED"
    got = error_from_rpc(rpc_error(grpc.StatusCode.UNAVAILABLE, text))
    assert got.reason is Reason.UNREACHABLE
    assert "certificates" in got.remedy


def test_unreadable_status_bytes_fall_back_to_the_code() -> None:
    trailing = {"grpc-status-details-bin": b"\xff\xff\xff"}
    got = error_from_rpc(rpc_error(grpc.StatusCode.NOT_FOUND, "gone", trailing))
    assert got.reason is Reason.NOT_FOUND
