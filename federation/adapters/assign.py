"""From assignments to messages: one signature for all grants that leave together.

The spec travels as its canonical bytes, whose digest the grant cites. Must not decide what is
granted.
"""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256

from federation.domain.events import SendAssignment
from intertie.metering.dsse import StatementSigner
from intertie.metering.grant import SignedGrant, sign_grants
from intertie.model.link import Assign, Assignment
from intertie.model.names import shard_of_id
from intertie.model.spec import TaskSpec
from intertie.model.task import Run, Task
from intertie.wire.canonical import encode_spec

MAX_FORMS = 1_024


class SpecForms:
    """The bytes of specs and their digests, made once for each spec object of late.

    The digest is asked for when a task is granted, the bytes right after, when it is sent; and the
    tasks of an array share one spec object.
    """

    def __init__(self) -> None:
        self._forms: OrderedDict[int, tuple[TaskSpec, bytes, str]] = OrderedDict()

    def bytes_of(self, spec: TaskSpec) -> bytes:
        """The canonical bytes."""
        return self._form(spec)[1]

    def digest(self, spec: TaskSpec) -> str:
        """Their SHA-256, in hex."""
        return self._form(spec)[2]

    def _form(self, spec: TaskSpec) -> tuple[TaskSpec, bytes, str]:
        known = self._forms.get(id(spec))
        if known is not None:  # it holds its spec, so the id cannot have become another's
            assert known[0] is spec, "an id names one live object"
            return known
        data = encode_spec(spec)
        made = self._forms[id(spec)] = (spec, data, sha256(data).hexdigest())
        if len(self._forms) > MAX_FORMS:
            self._forms.popitem(last=False)
        return made


def assign_all(
    effects: Sequence[SendAssignment], signer: StatementSigner, specs: SpecForms
) -> list[Assign]:
    """The signed messages of one tick, in order."""
    signed = sign_grants([effect.grant for effect in effects], signer)
    return [_assign(effect, grant, specs) for effect, grant in zip(effects, signed, strict=True)]


def _assign(effect: SendAssignment, signed: SignedGrant, specs: SpecForms) -> Assign:
    task, run = effect.task, effect.task.run
    assert run is not None, "an assigned task has a run"
    assert task.spec is not None, "a live task holds its spec"
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
        spec=specs.bytes_of(task.spec),
        principal=task.principal,
        payer=task.project,
        excluded=_excluded(task, run),
        checkpoint=task.checkpoint,
    )
    return Assign(
        assignment=assignment,
        grant=signed.grant,
        grant_index=signed.index,
        proof=signed.proof,
        envelope=signed.envelope,
    )


def _excluded(task: Task, run: Run) -> tuple[str, ...]:
    """The nodes of the run's region that earlier runs must not be tried on again (I10)."""
    earlier = (r for r in task.runs if r.region == run.region)
    return tuple(sorted({node for r in earlier for node in r.excluded}))
