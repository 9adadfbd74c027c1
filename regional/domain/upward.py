"""The region's side of its link to the federation: lease, summary, digests, and updates of runs.

Commit before ack: a RunUpdate leaves only after the commit that it tells of. An ended run is told
again on every new link until RunClosed answers. Must not decide what is accepted (`assignments`).
"""

import zlib
from typing import TYPE_CHECKING

from intertie.model.link import (
    CancelRun,
    DigestEntry,
    DigestRequest,
    FromRegion,
    LeaseGrant,
    OfferRelease,
    OfferRequest,
    RunClosed,
    RunDigest,
    RunUpdate,
)
from intertie.model.pool import Summary
from regional.domain.events import (
    FederationDown,
    FederationSaid,
    FederationUp,
    RenewalSent,
    ToFederation,
)
from regional.domain.nodes import pool
from regional.domain.runs.run import RegionRun

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

MS = 1_000_000
_DIGEST_PART = 500
_SUMMARY_SOON_MS = 200


class Upward:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core
        self._link = 0
        self._sent_ns: dict[int, int] = {}
        self._lease_until_ns = 0
        self._away_ns: tuple[int, int] | None = None
        self._revision = 0
        self._summary_due_ns = 0

    @property
    def deadline(self) -> int | None:
        """When the next summary is due, as boot_ns."""
        return self._summary_due_ns if self._link else None

    @property
    def link(self) -> int:
        """The present link, 0 = none."""
        return self._link

    def lease_left_ms(self) -> int:
        """What is left of the federation's lease, counted from when its renewal was sent."""
        left_ns = self._lease_until_ns - self._core.now.boot_ns
        return max(0, left_ns // MS - self._core.timing.delta_ms)

    def was_away(self, utc_ms: int) -> bool:
        """Whether too little was left of the federation's lease to pass a whole one on, then.

        Nodes stop what lives on a lease before the region's own is over, so that this counts from
        earlier. A region that has just begun, and has had no lease yet, blames itself.
        """
        core = self._core
        at_ns = core.now.boot_ns - (core.now.utc_ms - utc_ms) * MS
        spans = [self._away_ns, self._away_now()]
        return any(span is not None and span[0] <= at_ns <= span[1] for span in spans)

    def _away_now(self) -> tuple[int, int] | None:
        """Since when the lease has been too short to pass on, and now."""
        short_ns = self._lease_until_ns - self._core.timing.agent_lease_ms * MS
        now_ns = self._core.now.boot_ns
        return (short_ns, now_ns) if self._lease_until_ns and short_ns < now_ns else None

    # --- link ------------------------------------------------------------------------------------

    def link_event(self, event: RenewalSent | FederationUp | FederationDown) -> None:
        """The link's own events."""
        match event:
            case FederationUp(link=link):
                self._link = link
                self._sent_ns.clear()
                self._tell_all()
                self._summary()
            case FederationDown(link=link):
                if link == self._link:
                    self._link = 0
            case RenewalSent(seq=seq, sent_ns=sent_ns):
                self._sent_ns[seq] = sent_ns

    def heard(self, event: FederationSaid) -> None:
        """A message of the federation."""
        if event.link != self._link:
            return
        match event.message:
            case LeaseGrant() as grant:
                self._leased(grant)
            case OfferRequest() as request:
                self.send(self._core.scheduling.offer(request))
            case OfferRelease(id=id_):
                self._core.scheduling.release(id_)
            case CancelRun() as cancel:
                self._core.assignments.cancel(cancel)
            case RunClosed() as closed:
                self._core.assignments.closed(closed)
            case DigestRequest(id=id_):
                self._digest(id_)
            case _:
                raise AssertionError(f"a {type(event.message).__name__} is not for the core")

    def tick(self) -> None:
        """Send the summary that is due."""
        if self._link and self._core.now.boot_ns >= self._summary_due_ns:
            self._summary()

    def summary_soon(self) -> None:
        """Room has changed: tell it within `_SUMMARY_SOON_MS`, not at the next regular summary."""
        soon_ns = self._core.now.boot_ns + _SUMMARY_SOON_MS * MS
        self._summary_due_ns = min(self._summary_due_ns, soon_ns)

    def _leased(self, grant: LeaseGrant) -> None:
        sent_ns = self._sent_ns.pop(grant.seq, None)
        if sent_ns is None:
            return
        self._sent_ns = {seq: at for seq, at in self._sent_ns.items() if seq > grant.seq}
        assert sent_ns <= self._core.now.boot_ns, "a renewal was sent before its answer came"
        until = sent_ns + grant.lease_ms * MS
        if until > self._lease_until_ns:
            self._away_ns = self._away_now() or self._away_ns
            self._lease_until_ns = until
            self._core.scheduling.freed()

    def _summary(self) -> None:
        core = self._core
        self._revision += 1
        self._summary_due_ns = core.now.boot_ns + self._pause_ms() * MS
        self.send(
            Summary(
                region=core.site.region,
                incarnation=core.site.incarnation,
                revision=self._revision,
                jurisdiction=core.site.jurisdiction,
                classes=pool.classes(core.nodes.values(), core.site.declared),
                queued=core.scheduling.queued,
                running=core.running,
                lending=core.lender.terms(),
            )
        )

    def _pause_ms(self) -> int:
        """How long until the next summary: 3/4 to all of the period, by region and revision.

        Regions that began together must not go on publishing together, or a router sees all of
        them as old at once, and then all anew (routing.md).
        """
        period = self._core.timing.summary_every_ms
        which = f"{self._core.site.region}/{self._revision}".encode()
        return period - period * zlib.crc32(which) // (4 << 32)

    # --- telling ---------------------------------------------------------------------------------

    def tell(self, run: RegionRun) -> None:
        """Send the whole state of a guest run."""
        if run.native:
            return
        assert run.is_live or run.outcome is not None, "an end without an outcome"
        self.send(
            RunUpdate(
                task=run.task,
                token=run.token,
                revision=run.revision,
                state=run.state,
                outcome=run.outcome,
                node=run.node,
                placements=run.placements,
                started_ms=run.started_ms,
                ended_ms=run.ended_ms,
                exit_code=run.exit_code,
                signal=run.signal,
                failure_class=run.failure_class,
                cause=run.cause,
                message=run.message,
                useful_ms=run.run_ms - run.lost_ms if not run.is_live else 0,
                lost_ms=run.lost_ms,
                reclaimed_ms=run.reclaimed_ms,
                resumed_step=run.resumed_step,
                checkpoint=run.checkpoint,
                outputs=run.outputs,
                logs=run.logs,
                excluded=run.excluded,
            )
        )

    def _tell_all(self) -> None:
        for run in list(self._core.runs.values()):
            self.tell(run)

    def _digest(self, id_: int) -> None:
        entries = [
            DigestEntry(task=run.task, token=run.token, state=run.state, revision=run.revision)
            for run in self._core.runs.values()
            if not run.native
        ]
        parts = [entries[i : i + _DIGEST_PART] for i in range(0, len(entries), _DIGEST_PART)]
        for index, part in enumerate(parts or [[]]):
            last = index >= len(parts) - 1
            self.send(RunDigest(id=id_, entries=tuple(part), last=last))

    def send(self, message: FromRegion) -> None:
        """Send upward; lost if there is no link, repaired by digests."""
        if self._link:
            self._core.emit(ToFederation(link=self._link, message=message))
