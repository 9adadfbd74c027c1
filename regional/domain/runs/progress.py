"""What nodes report of runs while they live: usage samples and training checkpoints.

A sample is taken once and becomes pending usage in the commit that counts it. A checkpoint is
committed by compare-and-swap on the token, and only then a resume may see it.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from intertie.drive.effects import Record
from intertie.model.agentlink import AckUsage, CheckpointOffer, CheckpointVerdict, UsageSample
from intertie.model.states import Outcome
from intertie.model.task import CheckpointRef
from regional.domain.nodes.pool import Node
from regional.domain.runs import usage
from regional.domain.runs.run import RegionRun, StopOrder

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

_SHARD = 0


class Progress:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core

    def sampled(self, node: Node, sample: UsageSample) -> None:
        """One interval of a run."""
        core = self._core
        run = core.downward.run_of(node, sample.task, sample.token)
        if run is None:
            self._ack_usage(node.id, sample)
            return
        if sample.interval > run.intervals + 1:
            return
        if sample.interval == run.intervals + 1 and run.is_live:
            self._take(run, sample, node)
        self._ack_usage(node.id, sample)

    def _take(self, run: RegionRun, told: UsageSample, node: Node) -> None:
        core = self._core
        capability = node.hello.capability
        sample = usage.believed(run, told, core.now.utc_ms, core.timing, capability)
        assert sample.boot_ms <= told.boot_ms, "what is believed is a part of what was told"
        assert sample.start_ms >= run.metered_until_ms, "intervals never overlap (I8)"
        metered = usage.metered(run, sample, core.site.region)
        after = replace(
            run,
            intervals=sample.interval,
            placed_ms=run.placed_ms + sample.boot_ms,
            metered_until_ms=sample.end_ms,
            billed=metered.billed,
            usage_complete=sample.final,
            revision=run.revision + 1,
        )
        assert after.run_ms >= run.run_ms, "run time grows"
        core.change(run, after, metered.bodies)
        if sample.boot_ms < told.boot_ms:
            fact = {"task": run.task, "token": str(run.token), "node": run.node}
            cut = {"interval": told.interval, "usage_cut_ms": told.boot_ms - sample.boot_ms}
            core.emit(Record(_SHARD, run.key, run.project, {**fact, **cut}))
        if metered.used_up and after.stop is None and not sample.final:
            core.downward.stop(after, _used_up(after, metered.used_up))

    def _ack_usage(self, node: str, sample: UsageSample) -> None:
        ack = AckUsage(task=sample.task, token=sample.token, interval=sample.interval)
        self._core.downward.send(node, ack)

    def offered(self, node: Node, offer: CheckpointOffer) -> None:
        """One row, which a newer token or step replaces (I4)."""
        core = self._core
        run = core.downward.run_of(node, offer.task, offer.token)
        old = run.checkpoint if run is not None else None
        stale = run is None or not run.is_live
        if stale or (old is not None and (old.token, old.step) >= (offer.token, offer.step)):
            reason = "STALE_TOKEN" if stale else ""
            self._verdict(node.id, offer, committed=not stale, reason=reason)
            return
        assert run is not None, "checked above"
        ref = CheckpointRef(
            step=offer.step,
            manifest=offer.manifest,
            size=offer.size,
            token=offer.token,
            committed_ms=core.now.utc_ms,
        )
        assert run.node == node.id, "only the node that runs it commits its checkpoints"
        reaches_ms = min(offer.written_boot_ms, usage.longest_ms(run, core.now.utc_ms, core.timing))
        after = replace(
            run,
            checkpoint=ref,
            kept_ms=max(run.kept_ms, reaches_ms),
            revision=run.revision + 1,
        )
        core.change(run, after)
        core.upward.tell(after)
        self._verdict(node.id, offer, committed=True)

    def _verdict(
        self, node: str, offer: CheckpointOffer, *, committed: bool, reason: str = ""
    ) -> None:
        verdict = CheckpointVerdict(
            task=offer.task,
            token=offer.token,
            step=offer.step,
            committed=committed,
            reason=reason,
        )
        self._core.downward.send(node, verdict)


def _used_up(run: RegionRun, meter: str) -> StopOrder:
    """The cap covers the time limit and more: a run that reaches it outlived what was granted."""
    return StopOrder(
        outcome=Outcome.TIMED_OUT,
        reason=f"it has used up the {meter} that grant {run.grant_sha256} allows",
        cause="federation",
    )
