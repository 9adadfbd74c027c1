"""Grants: one signature a tick, one proof a grant. And the envelopes under them."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from intertie.errors import IntertieError, Reason
from intertie.metering import canonical, dsse
from intertie.metering.dsse import StatementSigner, open_envelope, pae
from intertie.metering.grant import (
    PAYLOAD_TYPE,
    Grant,
    SignedGrant,
    parse_grant,
    sign_grants,
    verify_grant,
)

SIGNER = StatementSigner.from_seed(b"\x05" * 32)
STRANGER = StatementSigner.from_seed(b"\x06" * 32)


@pytest.fixture
def grants(world: Any) -> list[Grant]:
    return [replace(world.grant, task=f"t-{n}", hard_cap=n % 2 == 0) for n in range(7)]


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(IntertieError) as caught:
        call()
    assert caught.value.reason is Reason.GRANT_INVALID


def test_one_signature_covers_all_grants_of_a_tick(grants: list[Grant]) -> None:
    signed = sign_grants([grant.encode() for grant in grants], SIGNER)
    assert len({one.envelope for one in signed}) == 1
    for one, grant in zip(signed, grants, strict=True):
        assert verify_grant(one, [STRANGER.key, SIGNER.key]) == grant
        assert parse_grant(one.grant).sha256 == grant.sha256
    assert sign_grants([], SIGNER) == []


def test_a_grant_that_was_changed_or_moved_is_refused(grants: list[Grant]) -> None:
    signed = sign_grants([grant.encode() for grant in grants], SIGNER)[3]
    other = replace(grants[3], payer="evil").encode()
    for bent in [
        replace(signed, grant=other),
        replace(signed, index=4),
        replace(signed, index=99),
        replace(signed, proof=signed.proof[:-1]),
        replace(signed, envelope=b"junk"),
    ]:
        refused(lambda bent=bent: verify_grant(bent, [SIGNER.key]))  # type: ignore[misc] # bound
    refused(lambda: verify_grant(signed, [STRANGER.key]))


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "other", "root": "ab" * 32, "size": 1},
        {"type": "intertie.grants/v1", "root": 7, "size": 1},
        {"type": "intertie.grants/v1", "root": "zz", "size": 1},
        {"type": "intertie.grants/v1", "root": "ab" * 32, "size": "1"},
    ],
)
def test_a_signed_statement_of_another_kind_is_no_root(world: Any, payload: dict[str, Any]) -> None:
    envelope = SIGNER.sign(PAYLOAD_TYPE, canonical.encode(payload))
    signed = SignedGrant(world.grant.encode(), 0, (), envelope)
    refused(lambda: verify_grant(signed, [SIGNER.key]))


@pytest.mark.parametrize(
    "change",
    [
        {"type": "other"},
        {"task": 7},
        {"not_after_ms": "1"},
        {"hard_cap": 1},
        {"extra": 1},
        {"meters": ["cpu.held_core_ms"]},
        {"meters": ["cpu.used_core_ms", "mem.held_mib_ms", "net.egress_bytes"]},
        {"meters": ["net.egress_bytes", "mem.held_mib_ms", "cpu.held_core_ms"]},
        {"maximum": [1, 2, -3]},
        {"maximum": [1, 2, True]},
        {"maximum": 7},
        {"rate": [1]},
    ],
)
def test_other_objects_are_no_grants(world: Any, change: dict[str, Any]) -> None:
    fields = canonical.parse(world.grant.encode())
    refused(lambda: parse_grant(canonical.encode(fields | change)))
    refused(lambda: parse_grant(canonical.encode({k: v for k, v in fields.items() if k != "task"})))
    refused(lambda: parse_grant(b"junk"))


def test_the_pre_authentication_encoding_is_that_of_the_specification() -> None:
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_envelopes_open_for_the_right_type_and_key_only() -> None:
    envelope = SIGNER.sign("a/b", b"payload")
    assert open_envelope(envelope, "a/b", [SIGNER.key]) == b"payload"
    refused(lambda: open_envelope(envelope, "a/c", [SIGNER.key]))
    refused(lambda: open_envelope(envelope, "a/b", [STRANGER.key]))
    refused(lambda: open_envelope(envelope, "a/b", []))
    refused(lambda: open_envelope(b"x" * (dsse.MAX_BYTES + 1), "a/b", [SIGNER.key]))
    assert "rivate" not in repr(SIGNER)


def test_an_envelope_may_bear_more_signatures() -> None:
    one, two = (json.loads(signer.sign("a/b", b"p")) for signer in (STRANGER, SIGNER))
    both = one | {"signatures": one["signatures"] + two["signatures"]}
    assert open_envelope(json.dumps(both).encode(), "a/b", [SIGNER.key]) == b"p"


@pytest.mark.parametrize(
    "change",
    [
        {"payload": base64.b64encode(b"other").decode()},
        {"payload": "cGF5bG9hZA"},
        {"payload": 7},
        {"signatures": []},
        {"signatures": 7},
        {"signatures": [7]},
        {"signatures": [{"keyid": SIGNER.key.id, "sig": "AAAA"}]},
        {"signatures": [{"sig": "AAAA"}]},
        {"payloadType": 7},
    ],
)
def test_broken_envelopes_are_refused(change: dict[str, Any]) -> None:
    envelope = json.loads(SIGNER.sign("a/b", b"payload"))
    bent = json.dumps(envelope | change).encode()
    refused(lambda: open_envelope(bent, "a/b", [SIGNER.key]))
