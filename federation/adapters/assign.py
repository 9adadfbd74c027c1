"""From assignments to messages: one signature for all grants that leave together.

The spec travels as its canonical bytes, made once per spec object. Must not decide what is granted.
"""

from collections.abc import Sequence

from federation.domain.events import SendAssignment
from intertie.metering.dsse import StatementSigner
from intertie.metering.grant import SignedGrant, sign_grants
from intertie.model.link import Assign, Assignment
from intertie.model.names import shard_of_id
from intertie.wire.canonical import encode_spec


def assign_all(effects: Sequence[SendAssignment], signer: StatementSigner) -> list[Assign]:
    """The signed messages of one tick, in order."""
    signed = sign_grants([effect.grant for effect in effects], signer)
    specs: dict[int, bytes] = {}
    return [_assign(effect, grant, specs) for effect, grant in zip(effects, signed, strict=True)]


def _assign(effect: SendAssignment, signed: SignedGrant, specs: dict[int, bytes]) -> Assign:
    task, run = effect.task, effect.task.run
    assert run is not None, "an assigned task has a run"
    assert task.spec is not None, "a live task holds its spec"
    spec = specs.get(id(task.spec))  # the effects keep their specs alive meanwhile
    if spec is None:
        spec = specs[id(task.spec)] = encode_spec(task.spec)
    assignment = Assignment(
        task=str(task.name),
        epoch=task.epoch,
        shard=shard_of_id(task.id),
        shard_epoch=effect.shard_epoch,
        offer=effect.offer,
        variant=run.variant,
        local_retries=effect.local_retries,
        attempts_left=max(0, task.spec.tolerance.max_attempts - task.attempts),
        index=task.index,
        spec=spec,
        principal=task.principal,
        payer=task.project,
        excluded=run.excluded,
        checkpoint=task.checkpoint,
    )
    return Assign(
        assignment=assignment,
        grant=signed.grant,
        grant_index=signed.index,
        proof=signed.proof,
        envelope=signed.envelope,
    )
