"""What the region knows of the federation's residency policy, and what it refuses by it.

The newest version that the region ever heard holds, also after a restart and while the federation
is away. The region re-checks by it on admission and again when it places; a run that waits when a
newer version comes is sent back, one that runs goes on to its end under the version that its
placement record cites. Must not decide about bytes that leave: `regional.adapters.reading` asks.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from intertie.drive.effects import Write
from intertie.model.link import OfferRequest
from intertie.model.spec import Residency, TaskSpec
from intertie.model.states import Outcome, RunState
from intertie.residency import NONE, Policy, Ruling, day_of, decide, want, want_of
from intertie.residency.compiled import compiled
from intertie.residency.reading import decode_policy
from regional.domain.events import PolicyHeard
from regional.domain.runs.run import RegionRun, StopOrder

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

POLICY, ONLY = "policy", "only"
"""Kind and key of the row."""
_SHARD = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPolicy:
    """The row: a version's number, digest and canonical bytes."""

    revision: int
    sha256: str
    body: bytes


class Residence:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core
        self.policy: Policy = NONE
        self.revision = 0

    def load(self, row: KnownPolicy) -> None:
        """Take up the stored version."""
        self.policy, self.revision = decode_policy(row.body), row.revision

    def heard(self, event: PolicyHeard) -> None:
        """The federation says which version holds; an older one changes nothing."""
        if event.revision <= self.revision:
            return
        self.policy, self.revision = event.policy, event.revision
        body = event.policy.canonical if event.policy.is_set else b""
        row = KnownPolicy(revision=event.revision, sha256=event.policy.sha256, body=body)
        self._core.emit(Write(_SHARD, POLICY, ONLY, row))
        waiting = [
            run
            for run in self._core.runs.values()
            if run.state is RunState.QUEUED and not run.native
        ]
        for run in waiting:
            ruling = self.ruling(run.spec, self._core.site.jurisdiction)
            if not ruling.allowed:
                self.send_back(run, ruling)

    def ruling(self, spec: TaskSpec, place: str) -> Ruling:
        """May a task be at a place of this region now?"""
        site = self._core.site
        asked = want_of(spec, {site.region: site.jurisdiction})
        return decide(self.policy, asked, place, self._today())

    def offers(self, request: OfferRequest) -> Ruling:
        """May anything with these bounds be here?"""
        bounds = Residency(within=request.within, not_within=request.not_within)
        return decide(self.policy, want(bounds), self._core.site.jurisdiction, self._today())

    def send_back(self, run: RegionRun, ruling: Ruling) -> None:
        """End a run that waits and may not be here: the federation routes the task elsewhere."""
        assert run.state is RunState.QUEUED, "what runs is not sent back"
        reason = f"RESIDENCY_VIOLATION by {ruling.rule}: {ruling.reason}"
        order = StopOrder(outcome=Outcome.REJECTED, reason=reason, cause="federation")
        self._core.downward.stop(run, order)

    def paths(self, areas: tuple[str, ...]) -> tuple[str, ...]:
        """Zones as their paths: an agent knows no policy."""
        return compiled(self.policy).paths(areas)

    def _today(self) -> str:
        return day_of(self._core.now.utc_ms)
