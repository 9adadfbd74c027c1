"""How a placement ends, and what becomes of its run: elsewhere, at an end, or kept for its death.

Only a fault of the node lets the region try again by itself (contract.md, retries). A run that goes
on without a lease is never beside itself: if its node could not kill it, it stays where it is until
it is known to be dead.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from intertie.model.agentlink import AckRun, AgentRunUpdate
from intertie.model.states import FailureClass, Outcome, RunState
from regional.domain.nodes.fencing import gave_up
from regional.domain.nodes.rooms import Room
from regional.domain.runs import run as lifecycle
from regional.domain.runs import usage
from regional.domain.runs.classify import Cause, by_order, classify
from regional.domain.runs.run import RegionRun

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

_ELSEWHERE = frozenset({FailureClass.HARDWARE, FailureClass.COMMUNICATION})
"""Failures for which the region itself tries another node."""
_STARTS_NOTHING = frozenset({Outcome.CANCELLED, Outcome.TIMED_OUT})
"""Orders after which nobody starts the task again, so that its end need not wait for a death."""


class Ends:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core

    def told(self, run: RegionRun, update: AgentRunUpdate) -> None:
        """The node that has the run says that it ended."""
        core = self._core
        if gave_up(update) and not _may_leave_it(run):
            self._keep(run)
            return
        away = core.upward.was_away(min(update.ended_ms, core.now.utc_ms))
        ran_ms = min(update.boot_ms, usage.longest_ms(run, core.now.utc_ms, core.timing))
        cause = classify(update, run.stop, federation_was_away=away)
        seen = replace(
            run,
            started_ms=run.started_ms or update.started_ms,
            exit_code=update.exit_code,
            signal=update.signal,
            placed_ms=max(run.placed_ms, ran_ms),
            resumed_step=update.resumed_step or run.resumed_step,
            outputs=update.outputs,
            logs=update.logs,
        )
        core.scheduling.ended(seen.placed_ms)
        if self._goes_elsewhere(seen, cause):
            self._requeue(run, seen, cause)
        else:
            self._finish(run, seen, cause)
        if gave_up(update):
            core.fencing.keep(replace(run, unkillable=True))
        core.downward.send(run.node, AckRun(task=run.task, token=run.token))

    def lost(
        self, run: RegionRun, message: str, *, silent: bool = False, dead: bool = False
    ) -> None:
        """A placement that cannot live any longer: elsewhere if it may, else it ends LOST.

        A node that is silent or was declared dead is not tried again for the run; one that merely
        began anew may be.
        """
        failure = FailureClass.HARDWARE if silent or dead else None
        assert run.node, "a run that waits is not lost"
        cause = Cause(Outcome.LOST, failure, "region", message)
        if run.stop is not None:
            self._finish(run, run, by_order(run.stop))
        elif self._goes_elsewhere(run, cause):
            self._requeue(run, run, cause)
        else:
            self._finish(run, run, cause)

    def _keep(self, run: RegionRun) -> None:
        """It holds its node until it is known to be dead: its node is not told to forget it."""
        message = f"{run.node} could not kill it and may still run it, until it is known to be dead"
        if run.unkillable and run.message == message:
            return
        state = RunState.STOPPING if run.stop is not None else run.state
        after = lifecycle.moved(run, state, unkillable=True, message=message)
        self._core.change(run, after)
        self._core.upward.tell(after)

    def _goes_elsewhere(self, run: RegionRun, cause: Cause) -> bool:
        """Whether the region itself tries again: a fault of the node, and somewhere to go.

        A guest's run for which no attached node is left returns to the federation.
        """
        is_lost = cause.outcome is Outcome.LOST or cause.failure_class in _ELSEWHERE
        if not is_lost or run.stop is not None or run.local_retries <= 0:
            return False
        bad = {*run.excluded, run.node} if _is_node_fault(cause) else set(run.excluded)
        return run.native or any(
            node.id not in bad and Room.whole(node).fits(run.shape)
            for node in self._core.nodes.values()
            if node.takes_work
        )

    def _requeue(self, before: RegionRun, seen: RegionRun, cause: Cause) -> None:
        core = self._core
        after = lifecycle.requeued(
            seen, cause.message, cause=cause.cause, exclude=_is_node_fault(cause)
        )
        core.change(before, after)
        core.upward.tell(after)

    def _finish(self, before: RegionRun, seen: RegionRun, cause: Cause) -> None:
        core = self._core
        after = lifecycle.ended(
            seen,
            cause.outcome,
            core.now.utc_ms,
            cause=cause.cause,
            message=cause.message,
            failure_class=cause.failure_class,
            exclude=_is_node_fault(cause),
        )
        assert not after.is_live, "an end"
        core.change(before, after, [usage.run_end_body(after, core.site.region)])
        core.upward.tell(after)
        if after.native:
            core.close(after)


def _may_leave_it(run: RegionRun) -> bool:
    """Whether the run may end though processes of it are left on the node.

    One with a lease has stopped itself everywhere by the time that another begins; one after which
    nobody begins another may end as well. Fencing keeps what it holds.
    """
    return run.is_move or (run.stop is not None and run.stop.outcome in _STARTS_NOTHING)


def _is_node_fault(cause: Cause) -> bool:
    """Whether the node itself is not to be tried again for the run."""
    return cause.failure_class in _ELSEWHERE
