"""What the region's operator orders: native tasks, evictions, corrections, lending, dead nodes.

Each order is remembered under its request_id in the commit of its effect.
"""

from typing import TYPE_CHECKING

from intertie.drive.effects import Fail, Reply
from intertie.errors import IntertieError, Reason, error
from intertie.metering import records
from intertie.model.states import Outcome
from intertie.model.token import Epoch, Token
from intertie.model.validate import shapes
from regional.domain.events import (
    Adjust,
    CreateNative,
    CreateReclaim,
    Evict,
    Order,
    RemoveNode,
    ReturnReclaim,
    SetLending,
)
from regional.domain.runs.corrected import corrected, correction_refused
from regional.domain.runs.run import RegionRun, StopOrder

if TYPE_CHECKING:
    from regional.domain.core import RegionCore


class Operator:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core

    def ordered(self, event: Order) -> None:
        """Carry out one order."""
        match event:
            case CreateNative():
                self._native(event)
            case Evict():
                self._evict(event)
            case Adjust():
                self._adjust(event)
            case RemoveNode():
                self._core.removal.ordered(event)
            case SetLending() | CreateReclaim() | ReturnReclaim():
                self._core.lender.ordered(event)

    def _native(self, event: CreateNative) -> None:
        assert event.task not in self._core.by_task, "a new task has a new name"
        run = RegionRun(
            task=event.task,
            project=self._core.site.region,
            token=Token(Epoch(1, 1), 0),
            native=True,
            spec=event.spec,
            shape=shapes(event.spec)[0],
            principal=event.principal,
            payer=self._core.site.region,
            request_id=event.request_id,
            local_retries=event.spec.tolerance.max_attempts,
            queued_ms=self._core.now.utc_ms,
        )
        self._core.change(None, run)
        self._core.reserve(event.request_id, event.request_digest, run.key)
        self._core.emit(Reply(event.ticket, run))

    def _evict(self, event: Evict) -> None:
        run = self._core.run_of(event.task)
        if run is None or not run.is_live:
            self._core.emit(
                Fail(event.ticket, error(Reason.NOT_FOUND, f"{event.task} has no live run here."))
            )
            return
        order = StopOrder(outcome=Outcome.EVICTED, reason=event.reason, cause="owner")
        after = self._core.downward.stop(run, order)
        self._core.reserve(event.request_id, event.request_digest, run.key)
        self._core.emit(Reply(event.ticket, after))

    def _adjust(self, event: Adjust) -> None:
        live = self._core.runs.get(event.run)
        run = live or event.closed
        if run is None:
            self._core.emit(Fail(event.ticket, _no_run(event.run)))
            return
        assert run.key == event.run, "a record is corrected with the sums of its own run"
        refused = correction_refused(run, records.parse_record(event.original), event.quantity)
        if refused is not None:
            self._core.emit(Fail(event.ticket, refused))
            return
        body = records.adjustment(
            event.original, n=event.n, quantity=event.quantity, reason=event.reason
        )
        after = corrected(run, body["meter"], event.quantity)
        if live is not None and after is not run:
            self._core.change(run, after)
        elif after is not run:
            self._core.rewrite(after)
        self._core.pend(body)
        self._core.reserve(event.request_id, event.request_digest, body["rid"])
        self._core.emit(Reply(event.ticket, body["rid"]))


def _no_run(key: str) -> IntertieError:
    return error(
        Reason.NOT_FOUND,
        f"The run {key} of this record is not known here, so its sums are not.",
        remedy="Try again; a run that was just closed is found the second time.",
    )
