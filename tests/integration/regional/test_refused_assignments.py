"""Assignments that a region does not accept, whatever the federation says."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from intertie.metering.dsse import StatementSigner
from intertie.metering.grant import parse_grant, sign_grants
from intertie.model.link import Assign
from intertie.model.spec import Residency, Tolerance
from intertie.model.token import Epoch
from intertie.testing.waiting import eventually
from intertie.wire.canonical import decode_spec, encode_spec

WITHIN_S = 10.0


def _resigned(assign: Assign, signer: StatementSigner, **changes: Any) -> Assign:
    """The assignment with another grant, well signed by this key."""
    grant = replace(parse_grant(assign.grant), **changes)
    (signed,) = sign_grants([grant.encode()], signer)
    return replace(
        assign,
        grant=signed.grant,
        grant_index=signed.index,
        proof=signed.proof,
        envelope=signed.envelope,
    )


def _assignment(assign: Assign, **changes: Any) -> Assign:
    return replace(assign, assignment=replace(assign.assignment, **changes))


def _other_key(assign: Assign, _: StatementSigner) -> Assign:
    return _resigned(assign, StatementSigner.from_seed(b"\7" * 32))


def _more_than_granted(assign: Assign, _: StatementSigner) -> Assign:
    grant = replace(parse_grant(assign.grant), maximum={"cpu.held_core_ms": 10**15})
    return replace(assign, grant=grant.encode())


def _other_spec(assign: Assign, _: StatementSigner) -> Assign:
    """Another task that is as well formed as the one that was granted."""
    spec = decode_spec(assign.assignment.spec)
    other = replace(spec, run=replace(spec.run, command=("another", "program")))
    return _assignment(assign, spec=encode_spec(other))


CASES: dict[str, Callable[[Assign, StatementSigner], Assign]] = {
    "signed by another key": _other_key,
    "altered after signing": _more_than_granted,
    "for another region": lambda a, s: _resigned(a, s, region="us"),
    "for another epoch": lambda a, s: _resigned(a, s, epoch="1-2"),
    "for another project": lambda a, s: _resigned(a, s, project="audio"),
    "for another payer": lambda a, s: _assignment(a, payer="audio"),
    "for the region as payer": lambda a, s: _assignment(_resigned(a, s, payer="eu"), payer="eu"),
    "for another spec": _other_spec,
    "not valid any more": lambda a, s: _resigned(a, s, not_after_ms=1_000),
    "without an opaque principal": lambda a, s: _assignment(a, principal="a/b"),
    "with a variant that does not exist": lambda a, s: _assignment(a, variant=4),
}


@pytest.mark.parametrize("case", sorted(CASES))
async def test_a_grant_that_does_not_hold_is_refused(place: Any, spec: Any, case: str) -> None:
    await place.start()
    agent = await place.agent()
    await place.attached()
    signer = place.federation.signer
    altered = CASES[case]
    task = place.federation.assign("eu", spec, altered=lambda a: altered(a, signer)).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the answer")
    ack = place.federation.ack(task)
    assert (ack.accepted, ack.reason) == (False, "GRANT_INVALID")
    assert agent.runs == {}


async def test_a_grant_of_another_task_is_refused(place: Any, spec: Any) -> None:
    await place.start()
    await place.attached()
    other = place.federation.new_task()
    place.federation.assign("eu", spec, altered=lambda a: _assignment(a, task=other))
    await eventually(lambda: place.federation.ack(other), WITHIN_S, what="the answer")
    assert place.federation.ack(other).reason == "GRANT_INVALID"


@pytest.mark.parametrize("spoil", [lambda b: b[:-1], lambda b: b + b" ", lambda b: b"{}"])
async def test_a_spec_that_is_not_canonical_is_refused(place: Any, spec: Any, spoil: Any) -> None:
    await place.start()
    await place.attached()
    task = place.federation.assign(
        "eu", spec, altered=lambda a: _assignment(a, spec=spoil(a.assignment.spec))
    ).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the answer")
    assert place.federation.ack(task).accepted is False


async def test_a_spec_that_no_federation_may_accept_is_refused(place: Any, spec: Any) -> None:
    await place.start()
    await place.attached()
    bad = encode_spec(replace(spec, tolerance=Tolerance(max_attempts=-4)))
    signer, digest = place.federation.signer, sha256(bad).hexdigest()

    def granted(assign: Assign) -> Assign:
        return _resigned(_assignment(assign, spec=bad), signer, spec_sha256=digest)

    task = place.federation.assign("eu", spec, altered=granted).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the answer")
    assert place.federation.ack(task).reason == "INVALID_FIELD"


async def test_residency_is_checked_by_the_region_itself(place: Any, spec: Any) -> None:
    await place.start()
    await place.attached()
    bound = replace(spec, residency=Residency(within=("FR",)))
    task = place.federation.assign("eu", bound).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the answer")
    ack = place.federation.ack(task)
    assert (ack.accepted, ack.reason) == (False, "RESIDENCY_VIOLATION")


async def test_an_older_epoch_is_refused_and_the_newer_goes_on(place: Any, spec: Any) -> None:
    await place.start()
    agent = await place.agent()
    await place.attached()
    task = place.federation.assign("eu", spec, epoch=Epoch(1, 2)).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the first answer")
    place.federation.assign("eu", spec, task=task, epoch=Epoch(1, 1))
    await eventually(
        lambda: place.federation.ack(task).reason == "STALE_TOKEN", WITHIN_S, what="the refusal"
    )
    assert len(agent.runs) == 1
