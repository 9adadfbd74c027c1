"""What the federation hands to the region: runs that are accepted or refused, stopped, and closed.

The same assignment again gets the same answer; an older epoch is refused as stale (I4, I5). Commit
before ack: an AssignAck leaves only after the commit that it tells of. Must not choose nodes.
"""

from typing import TYPE_CHECKING

from intertie.model.link import AssignAck, Assignment, CancelRun, RunClosed
from intertie.model.names import TaskName
from intertie.model.states import Outcome, RunState
from intertie.model.token import Token
from intertie.model.validate import shapes
from regional.domain.events import Assigned, AssignRefused
from regional.domain.lending import rules
from regional.domain.runs import usage
from regional.domain.runs.run import RegionRun, StopOrder

if TYPE_CHECKING:
    from regional.domain.core import RegionCore


class Assignments:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core

    def assigned(self, event: Assigned) -> None:
        """Accept or refuse an assignment. The same one again gets the same answer."""
        core, assignment = self._core, event.assignment
        if event.link != core.upward.link:
            return
        core.scheduling.used(assignment.offer)
        standing = core.run_of(assignment.task)
        if standing is not None and standing.token.epoch >= assignment.epoch:
            self._repeat(standing, assignment)
            return
        refusal = self._refusal(event)
        if refusal is not None:
            self._ack(assignment, *refusal)
            return
        if standing is not None and standing.is_live:
            order = StopOrder(
                outcome=Outcome.SUPERSEDED, reason="a newer run exists", cause="federation"
            )
            if core.downward.stop(standing, order).is_live:
                # Not beside it, wherever: the federation asks again when it has had time to die.
                self._ack(assignment, "WRONG_STATE", "an older run of the task is being stopped")
                return
        core.change(None, self._new(event))
        self._ack(assignment)

    def _new(self, event: Assigned) -> RegionRun:
        assignment = event.assignment
        options = shapes(event.spec)
        assert -1 <= assignment.variant < len(options), "the shell has checked the variant"
        return RegionRun(
            task=assignment.task,
            project=TaskName.parse(assignment.task).project,
            token=Token(assignment.epoch, 0),
            native=False,
            spec=event.spec,
            shape=options[max(assignment.variant, 0)],
            variant=assignment.variant,
            index=assignment.index,
            principal=assignment.principal,
            payer=assignment.payer,
            grant_sha256=event.grant_sha256,
            caps=event.caps,
            shard=assignment.shard,
            shard_epoch=assignment.shard_epoch,
            local_retries=assignment.local_retries,
            queued_ms=self._core.now.utc_ms,
            checkpoint=assignment.checkpoint,
            excluded=assignment.excluded,
        )

    def _refusal(self, event: Assigned) -> tuple[str, str] | None:
        """Why the region does not accept: it re-checks residency and its own bounds."""
        core, spec = self._core, event.spec
        answer = core.residence.ruling(spec, core.site.jurisdiction)
        if not answer.allowed:
            return "RESIDENCY_VIOLATION", f"{answer.rule}: {answer.reason}"
        project = TaskName.parse(event.assignment.task).project
        not_lent = rules.refusal(core.lender.policy, spec, project)
        if not_lent:
            return "NOT_LENT", not_lent
        if core.scheduling.queued >= core.site.max_queue:
            return "QUOTA_EXCEEDED", f"the queue holds {core.site.max_queue} runs already"
        return None

    def _repeat(self, standing: RegionRun, assignment: Assignment) -> None:
        if standing.token.epoch == assignment.epoch:
            self._ack(assignment)
            self._core.upward.tell(standing)
        else:
            self._ack(assignment, "STALE_TOKEN", f"epoch {standing.token.epoch} is here already")

    def _ack(self, assignment: Assignment, reason: str = "", message: str = "") -> None:
        ack = AssignAck(
            task=assignment.task,
            epoch=assignment.epoch,
            accepted=not reason,
            reason=reason,
            message=message,
        )
        self._core.upward.send(ack)

    def refused(self, event: AssignRefused) -> None:
        """Refuse, unless a run of that epoch or a later one stands: then that is the answer."""
        if event.link != self._core.upward.link:
            return
        standing = self._core.run_of(event.assignment.task)
        if standing is not None and standing.token.epoch >= event.assignment.epoch:
            self._repeat(standing, event.assignment)
        else:
            self._ack(event.assignment, event.reason, event.message)

    def cancel(self, cancel: CancelRun) -> None:
        """Stop a run, or say that it was never accepted."""
        core = self._core
        run = core.runs.get(f"{cancel.task}@{cancel.epoch}")
        if run is None:
            ack = AssignAck(
                task=cancel.task,
                epoch=cancel.epoch,
                accepted=False,
                reason="CANCELLED",
                message="the region had not accepted it",
            )
            self._core.upward.send(ack)
            return
        if not run.is_live:
            self._core.upward.tell(run)
            return
        outcome, cause = Outcome.CANCELLED, "submitter"
        if cancel.superseded:
            outcome, cause = Outcome.SUPERSEDED, "federation"
        elif cancel.evict:
            outcome, cause = Outcome.EVICTED, "federation"
        order = StopOrder(outcome=outcome, reason=cancel.reason, cause=cause)
        core.downward.stop(run, order)

    def closed(self, closed: RunClosed) -> None:
        """The federation has the end of a run on disk."""
        run = self._core.runs.get(f"{closed.task}@{closed.token.epoch}")
        if run is not None and not run.is_live:
            self._core.close(run)

    def finish(self, run: RegionRun) -> None:
        """End a run that no node holds, with its record, and tell the federation."""
        assert run.state is RunState.ENDED, "finish ends a run"
        assert not run.node, "a node that holds a run says itself how it ended"
        self._core.change(None, run, [usage.run_end_body(run, self._core.site.region)])
        self._core.upward.tell(run)
        if run.native:
            self._core.close(run)
