"""Verifies what the federation assigns: signature, scope and form, before the core hears of it.

The region trusts no assignment for its words: the grant must be signed by the federation and name
this region, this task, this epoch, the payer that is to be billed and the bytes of the spec, which
must be one that this version understands whole. Residency and room are the core's to judge.
"""

from collections.abc import Sequence
from hashlib import sha256

from intertie.errors import IntertieError, PeerError, Reason
from intertie.metering.dsse import StatementKey
from intertie.metering.grant import Grant, SignedGrant, verify_grant
from intertie.metering.rids import ID
from intertie.model.link import Assign, Assignment
from intertie.model.names import TaskName
from intertie.model.spec import TaskSpec
from intertie.model.validate import shapes, validate
from intertie.wire.canonical import decode_spec
from regional.domain.events import Assigned, AssignRefused

MAX_RETRIES = 1_000


class Assignments:
    """See the module's text.

    Args:
        region: our id.
        keys: public keys of the federation.
    """

    def __init__(self, region: str, keys: Sequence[StatementKey]) -> None:
        self._region = region
        self._keys = tuple(keys)

    def read(self, link: int, assign: Assign, utc_ms: int) -> Assigned | AssignRefused:
        """What the core is to hear of an assignment."""
        assignment = assign.assignment
        try:
            name = TaskName.parse(assignment.task, "assign.task")
            grant = self._grant(assign, name, utc_ms)
            spec = _spec(assignment)
        except IntertieError as fault:
            return AssignRefused(
                link=link,
                assignment=assignment,
                reason=fault.reason.value,
                message=fault.message,
            )
        return Assigned(
            link=link,
            assignment=assignment,
            spec=spec,
            caps=grant.maximum,
            grant_sha256=sha256(assign.grant).hexdigest(),
        )

    def _grant(self, assign: Assign, name: TaskName, utc_ms: int) -> Grant:
        signed = SignedGrant(assign.grant, assign.grant_index, assign.proof, assign.envelope)
        grant = verify_grant(signed, self._keys)
        assignment = assign.assignment
        pairs = {
            "task": (grant.task, name.id),
            "project": (grant.project, name.project),
            "epoch": (grant.epoch, str(assignment.epoch)),
            "region": (grant.region, self._region),
            "payer": (grant.payer, assignment.payer),
            "spec_sha256": (grant.spec_sha256, sha256(assignment.spec).hexdigest()),
        }
        for field, (granted, meant) in pairs.items():
            if granted != meant:
                raise _invalid(f"grant.{field}: is for {granted!r}, not {meant!r}")
        if self._region in (grant.payer, grant.project):  # usage would count as our own work
            raise _invalid(f"grant.payer: {self._region} is this region, which pays nobody")
        if utc_ms >= grant.not_after_ms:
            raise _invalid(f"grant.not_after_ms: is over since {utc_ms - grant.not_after_ms} ms")
        if ID.fullmatch(assignment.principal) is None:
            raise _invalid("assign.principal: is no opaque id")
        return grant


def _spec(assignment: Assignment) -> TaskSpec:
    spec = decode_spec(assignment.spec)
    validate(spec)
    if not -1 <= assignment.variant < len(shapes(spec)):
        raise _invalid(f"assign.variant: the spec has no variant {assignment.variant}")
    if not 0 <= assignment.local_retries <= MAX_RETRIES:
        raise _invalid(f"assign.local_retries: is not between 0 and {MAX_RETRIES}")
    return spec


def _invalid(what: str) -> IntertieError:
    return PeerError(Reason.GRANT_INVALID, f"{what}.")
