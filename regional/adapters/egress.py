"""What may leave the region: no byte of a restricted run goes where its residency forbids (I7).

Reader and relay are what the federation declares of them; who declares nothing gets nothing of a
restricted run. Must not read any bytes.
"""

from hashlib import sha256

from intertie.errors import Reason, error, invalid
from intertie.model.link import PolicyUpdate, ReadBytes
from intertie.ports import Clock
from intertie.residency import NO_POLICY, NONE, Policy, Stop, day_of, may_leave, want_of
from intertie.residency.reading import decode_policy
from intertie.store.pump import Pump
from regional.domain.events import PolicyHeard
from regional.domain.residence import ONLY, POLICY, KnownPolicy
from regional.domain.runs.run import RegionRun


class Egress:
    """See the module's text.

    Args:
        pump: has the newest policy that this region knows.
        jurisdiction: where this region is.
        clock: what expires goes by the day.
    """

    def __init__(self, pump: Pump, jurisdiction: str, clock: Clock) -> None:
        self._pump = pump
        self._jurisdiction = jurisdiction
        self._clock = clock

    def check(self, run: RegionRun, request: ReadBytes) -> None:
        """Raise RESIDENCY_VIOLATION, naming the rule, unless what is asked for may leave."""
        stops = (Stop("relay", request.relay), Stop("reader", request.reader))
        day = day_of(self._clock.now().utc_ms)
        ruling = may_leave(self._policy(), want_of(run.spec), self._jurisdiction, stops, day)
        if ruling.allowed:
            return
        raise error(
            Reason.RESIDENCY_VIOLATION,
            f"Logs and outputs of {run.task} may not leave {self._jurisdiction}: {ruling.reason} "
            f"(rule: {ruling.rule}).",
            remedy="Read them where the task's residency allows it (docs/residency.md).",
            metadata={"rule": ruling.rule},
        )

    def _policy(self) -> Policy:
        row = self._pump.drive.view.get(POLICY, ONLY)
        return decode_policy(row.body) if isinstance(row, KnownPolicy) else NONE


def policy_heard(update: PolicyUpdate) -> PolicyHeard:
    """What the core is to hear of a policy, once its digest and form are checked."""
    digest = sha256(update.body).hexdigest()
    if digest != update.sha256 or update.revision < 0:
        raise invalid("policy_update.sha256", f"is {update.sha256[:64]!r}, the body has {digest}")
    policy = decode_policy(update.body)
    assert policy.sha256 == digest or digest == NO_POLICY, "canonical bytes have one digest"
    return PolicyHeard(revision=update.revision, policy=policy)
