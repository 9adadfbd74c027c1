"""Tokens, requests and identities change by compare-and-swap, over every ledger."""

import asyncio
from typing import Any

import pytest

from intertie.errors import IntertieError, Reason
from intertie.pki.identity import Identity
from intertie.pki.join.issued import Issuance
from intertie.pki.join.requests import JoinRequest, JoinState
from intertie.pki.join.strings import JoinString, Purpose, hash_secret, new_join_string
from intertie.pki.join.tokens import KEPT_MS, REPLAY_MS, Token
from intertie.pki.profile import HOUR_MS
from intertie.pki.spiffe import parse
from intertie.store.enrollment.ledger import Ledger, StoreLedger
from intertie.store.enrollment.registry import Bearer, Registry
from intertie.store.etcd.memory import MemoryEtcd
from intertie.store.etcd.port import Absent, Remove, Unchanged, Write
from intertie.store.memory import MemoryStore
from intertie.testing.clock import FakeClock, SeededIds

EU = "spiffe://eu.intertie.example/scheduler"


async def token_for(
    registry: Registry, clock: FakeClock, *, seed: int = 1, **changes: Any
) -> JoinString:
    purpose = changes.get("purpose", Purpose.REGION)
    region = "eu" if purpose is Purpose.NODE else ""
    made = new_join_string(purpose, "ab" * 32, SeededIds(seed, clock), region=region)
    now_ms = clock.now().utc_ms
    fields: dict[str, Any] = {
        "id": made.token_id,
        "purpose": purpose,
        "secret_sha256": hash_secret(made.secret),
        "subject": EU,
        "created_ms": now_ms,
        "expires_ms": now_ms + HOUR_MS,
    }
    await registry.create_token(Token(**(fields | changes)))
    return made


def bearer(key: str = "k1", subject: str = EU) -> Bearer:
    return Bearer(subject=subject, key_sha256=key, address="127.0.0.1")


def waiting(key: str, subject: str = EU) -> Any:
    def make(token: Token) -> tuple[Issuance, JoinRequest | None]:
        request = JoinRequest(
            id=token.id,
            region="eu",
            subject=subject,
            key_sha256=key,
            key_pem="pem",
            secret_sha256=token.secret_sha256,
            jurisdiction="DE",
        )
        return Issuance(subject=subject, key_sha256=key), request

    return make


def certified(serial: str, key: str = "k1") -> Any:
    def make(*_: object) -> Issuance:
        return Issuance(subject=EU, key_sha256=key, serial=serial, expires_ms=2**50)

    return make


async def refusal(call: Any) -> Reason:
    with pytest.raises(IntertieError) as caught:
        await call
    return caught.value.reason


async def approve(registry: Registry, id_: str, serial: str = "a") -> JoinRequest:
    return await registry.decide(
        id_, JoinState.APPROVED, decider="root", reason="known", make=certified(serial)
    )


async def test_a_redemption_binds_token_and_name_to_one_key(
    registry: Registry, clock: FakeClock
) -> None:
    shown = await token_for(registry, clock)
    first = await registry.redeem(shown, bearer(), waiting("k1"))
    assert (first.token.uses, first.issuance.key_sha256) == (1, "k1")
    assert await refusal(registry.redeem(shown, bearer("k2"), waiting("k2"))) is (
        Reason.JOIN_TOKEN_INVALID
    )
    other = await token_for(registry, clock, seed=2)
    taken = registry.redeem(other, bearer("k2"), waiting("k2"))
    assert await refusal(taken) is Reason.ALREADY_EXISTS
    [token, *_] = [t for t in await registry.tokens() if t.id == other.token_id]
    assert token.uses == 0, "what was refused uses nothing up"


async def test_a_lost_answer_is_answered_again(registry: Registry, clock: FakeClock) -> None:
    shown = await token_for(registry, clock)
    first = await registry.redeem(shown, bearer(), waiting("k1"))
    clock.advance_ns(REPLAY_MS * 10**6)
    again = await registry.redeem(shown, bearer(), waiting("k1"))
    assert again.request == first.request
    clock.advance_ns(10**9)
    assert await refusal(registry.redeem(shown, bearer(), waiting("k1"))) is (
        Reason.JOIN_TOKEN_INVALID
    )


async def test_of_many_at_once_one_key_wins(registry: Registry, clock: FakeClock) -> None:
    shown = await token_for(registry, clock)
    results = await asyncio.gather(
        *(registry.redeem(shown, bearer(f"k{n}"), waiting(f"k{n}")) for n in range(6)),
        return_exceptions=True,
    )
    won = [result for result in results if not isinstance(result, BaseException)]
    assert len(won) == 1
    issuance = await registry.issuance(EU)
    assert issuance is not None
    assert issuance.key_sha256 == won[0].issuance.key_sha256


async def test_a_rejected_name_is_free_again(registry: Registry, clock: FakeClock) -> None:
    shown = await token_for(registry, clock)
    await registry.redeem(shown, bearer(), waiting("k1"))
    await registry.decide(shown.token_id, JoinState.REJECTED, decider="root", reason="who?")
    assert await refusal(approve(registry, shown.token_id)) is Reason.WRONG_STATE
    other = await token_for(registry, clock, seed=2)
    assert (await registry.redeem(other, bearer("k2"), waiting("k2"))).request is not None


async def test_a_member_that_asks_again_keeps_its_certificate_until_decided(
    registry: Registry, clock: FakeClock
) -> None:
    shown = await token_for(registry, clock)
    await registry.redeem(shown, bearer(), waiting("k1"))
    await approve(registry, shown.token_id)
    other = await token_for(registry, clock, seed=2)
    await registry.redeem(other, bearer(), waiting("k1"))
    await registry.decide(other.token_id, JoinState.REJECTED, decider="root", reason="no")
    standing = await registry.issuance(EU)
    assert standing is not None
    assert standing.serial == "a"


async def test_an_approval_that_is_repeated_certifies_once(
    registry: Registry, clock: FakeClock
) -> None:
    shown = await token_for(registry, clock)
    await registry.redeem(shown, bearer(), waiting("k1"))
    await approve(registry, shown.token_id, "a")
    await approve(registry, shown.token_id, "b")
    standing = await registry.issuance(EU)
    assert standing is not None
    assert standing.serial == "a"


async def test_only_the_newest_serial_renews(registry: Registry, clock: FakeClock) -> None:
    shown = await token_for(registry, clock)
    await registry.redeem(shown, bearer(), waiting("k1"))
    await approve(registry, shown.token_id, "a")
    old = Identity.of(parse(EU, "intertie.example"), serial="a", not_before_ms=0, not_after_ms=1)
    renewed = await registry.renew(old, "k2", certified("b", "k2"))
    assert renewed.previous_serial == "a"
    assert await registry.renew(old, "k2", certified("c", "k2")) == renewed
    assert await refusal(registry.renew(old, "k3", certified("d", "k3"))) is (
        Reason.PERMISSION_DENIED
    )


async def test_a_token_is_made_once_and_forgotten_late(
    registry: Registry, clock: FakeClock
) -> None:
    await token_for(registry, clock)
    again = token_for(registry, clock, creator="somebody else")
    assert await refusal(again) is Reason.ALREADY_EXISTS
    clock.advance_ns((HOUR_MS + KEPT_MS + 1) * 10**6)
    await token_for(registry, clock, seed=2)
    assert len(await registry.tokens()) == 1


async def test_what_does_not_exist_is_not_found(registry: Registry) -> None:
    assert await refusal(approve(registry, "region-1")) is Reason.NOT_FOUND
    assert await refusal(registry.change_token("node-1", lambda t: t)) is Reason.NOT_FOUND


async def test_a_ledger_does_all_or_nothing(ledger: Ledger) -> None:
    assert (await ledger.txn((Absent("a"),), (Write("a", b"1"), Write("b", b"1")))).succeeded
    refused = await ledger.txn((Absent("a"),), (Write("b", b"2"),))
    assert not refused.succeeded
    assert refused.standing["a"].value == b"1"
    entry = await ledger.get("b")
    assert entry is not None
    assert entry.value == b"1"
    assert (await ledger.txn((Unchanged("b", entry.mod_revision),), (Remove("b"),))).succeeded
    assert not (await ledger.txn((Unchanged("b", entry.mod_revision),), ())).succeeded
    assert [e.key for e in (await ledger.list("")).entries] == ["a"]


async def test_a_store_ledger_outlives_its_process() -> None:
    store = MemoryStore()
    await StoreLedger(store, 8).txn((), (Write("a", b"1"),))
    entry = await StoreLedger(store, 8).get("a")
    assert entry is not None
    assert entry.value == b"1"


async def test_lost_answers_of_etcd_lock_nobody_out(clock: FakeClock) -> None:
    etcd = MemoryEtcd(clock)
    registry = Registry(etcd, clock)
    shown = await token_for(registry, clock)
    etcd.lose_answers = 1
    redeemed = await registry.redeem(shown, bearer(), waiting("k1"))
    assert redeemed.token.uses == 1
    etcd.lose_answers = 1
    assert (await approve(registry, shown.token_id)).state is JoinState.APPROVED
