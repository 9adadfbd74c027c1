"""The region's side of its links to agents: starts, ends, samples, checkpoints, lost nodes.

A node out of touch loses nothing by silence alone. `move` runs stop themselves when their lease is
over, and only then may they start elsewhere; the others wait for the node, for proof of death
(another boot, or a keeper that began anew), or for an operator.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from intertie.model.agentlink import (
    AckRun,
    AckUsage,
    AgentLease,
    AgentRunUpdate,
    AgentWelcome,
    Beat,
    CheckpointOffer,
    CheckpointVerdict,
    FromRegionToAgent,
    StopRun,
    UsageSample,
)
from intertie.model.states import FailureClass, Outcome, RunState
from intertie.model.task import CheckpointRef
from intertie.model.token import Token
from regional.domain import run as lifecycle
from regional.domain import usage
from regional.domain.classify import Cause, classify
from regional.domain.events import NodeDown, NodeSaid, NodeUp, ToNode
from regional.domain.orders import start_order
from regional.domain.pool import Node
from regional.domain.run import RegionRun, StopOrder

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

MS = 1_000_000
_ELSEWHERE = frozenset({FailureClass.HARDWARE, FailureClass.COMMUNICATION})
"""Failures for which the region itself tries another node (contract.md, retries)."""


class Downward:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core
        self._due: int | None = None
        self._watched = False

    @property
    def deadline(self) -> int | None:
        """When the next silence becomes news, as boot_ns."""
        if not self._watched:
            self._watched = True
            self._schedule()
        return self._due

    # --- orders ----------------------------------------------------------------------------------

    def start(self, run: RegionRun, node: str, devices: tuple[int, ...]) -> None:
        """Place a run on a node: durable first, with its placement record; then it is sent."""
        core = self._core
        after = lifecycle.placed(run, node, devices, core.now.utc_ms)
        body = usage.placement_body(after, core.site.region, core.site.jurisdiction)
        core.change(run, after, [body])
        core.upward.tell(after)
        self._send_start(after)

    def stop(self, run: RegionRun, order: StopOrder) -> RegionRun:
        """Stop a run: at once if no node has it, else by its node; the first order stands."""
        core = self._core
        if run.state is RunState.QUEUED:
            after = lifecycle.ended(
                run, order.outcome, core.now.utc_ms, cause=order.cause, message=order.reason
            )
            core.upward.finish(after)
            return after
        if run.stop is None:
            after = lifecycle.moved(run, RunState.STOPPING, stop=order)
            core.change(run, after)
            core.upward.tell(after)
            run = after
        self._send_stop(run)
        return run

    def _send_start(self, run: RegionRun) -> None:
        core = self._core
        self._send(run.node, start_order(run, self._lease_ms(run)))
        if run.stop is not None:
            self._send_stop(run)
        assert run.key in core.runs, "a start of a run that is not kept"

    def _send_stop(self, run: RegionRun) -> None:
        assert run.stop is not None, "a stop without an order"
        order = StopRun(
            task=run.task,
            token=run.token,
            outcome=run.stop.outcome,
            reason=run.stop.reason,
            notice_ms=self._core.timing.notice_ms,
        )
        self._send(run.node, order)

    def _lease_ms(self, run: RegionRun | None = None) -> int:
        """min(agent lease, what remains of the federation's), for `move` runs (safety.md)."""
        if run is not None and not run.is_move:
            return 0
        return min(self._core.timing.agent_lease_ms, self._core.upward.lease_left_ms())

    # --- links -----------------------------------------------------------------------------------

    def link_event(self, event: NodeUp | NodeDown) -> None:
        """An agent came or went."""
        if isinstance(event, NodeUp):
            self._up(event)
        else:
            self._down(event)
        self._schedule()

    def _up(self, event: NodeUp) -> None:
        core, hello = self._core, event.hello
        before = core.nodes.get(hello.node)
        granted = before.granted_ns if before is not None else core.started_ns
        node = Node(hello, event.link, granted, heard_ns=core.now.boot_ns)
        node.runs = {
            run.key: run for run in core.runs.values() if run.is_live and run.node == hello.node
        }
        core.nodes[hello.node] = node
        self._send(
            hello.node,
            AgentWelcome(
                region=core.site.region,
                incarnation=core.site.incarnation,
                software="",
                protocol=1,
                beat_ms=max(200, core.timing.agent_lease_ms // 6),
                jurisdiction=core.site.jurisdiction,
            ),
        )
        self._adopt(node)
        core.scheduling.freed()

    def _adopt(self, node: Node) -> None:
        """Compare what the node holds with what it should hold (restart re-adopts)."""
        held = {(r.task, r.token): r for r in node.hello.runs}
        for run in list(node.runs.values()):
            if held.pop((run.task, run.token), None) is not None:
                if run.stop is not None:
                    self._send_stop(run)
                continue
            if run.state is RunState.STAGING or (
                run.state is RunState.STOPPING and not run.started_ms
            ):
                self._send_start(run)
            else:
                self._lost(run, "the node came back without it")
        for task, token in held:
            self._not_ours(node.id, task, token, RunState.RUNNING)

    def _down(self, event: NodeDown) -> None:
        node = self._core.nodes.get(event.node)
        if node is not None and node.link == event.link:
            node.link, node.lost_ns = 0, self._core.now.boot_ns

    def heard(self, event: NodeSaid) -> None:
        """A message of a node, by its present link only."""
        node = self._core.nodes.get(event.node)
        if node is None or node.link != event.link:
            return
        node.heard_ns = self._core.now.boot_ns
        match event.message:
            case Beat(seq=seq):
                node.granted_ns = self._core.now.boot_ns
                self._send(node.id, AgentLease(seq=seq, lease_ms=self._lease_ms()))
            case AgentRunUpdate() as update:
                self._updated(node, update)
            case UsageSample() as sample:
                self._sampled(node, sample)
            case CheckpointOffer() as offer:
                self._checkpoint(node, offer)
            case _:
                raise AssertionError(f"a {type(event.message).__name__} is not for the core")

    # --- what nodes say of runs ------------------------------------------------------------------

    def _run_of(self, node: Node, task: str, token: Token) -> RegionRun | None:
        """The run, if this node acts for it under the present token (I4)."""
        run = self._core.runs.get(f"{task}@{token.epoch}")
        ours = run is not None and run.node == node.id and run.token == token
        return run if ours else None

    def _updated(self, node: Node, update: AgentRunUpdate) -> None:
        run = self._run_of(node, update.task, update.token)
        if run is None or not run.is_live:
            self._not_ours(node.id, update.task, update.token, update.state)
            return
        if update.state is RunState.ENDED:
            self._ended(run, update)
            return
        state = RunState.STOPPING if run.stop is not None else update.state
        if state is run.state:
            return
        after = lifecycle.moved(
            run,
            state,
            started_ms=run.started_ms or update.started_ms,
            resumed_step=update.resumed_step or run.resumed_step,
        )
        self._core.change(run, after)
        self._core.upward.tell(after)

    def _not_ours(self, node: str, task: str, token: Token, state: RunState) -> None:
        if state is RunState.ENDED:
            self._send(node, AckRun(task=task, token=token))
            return
        stop = StopRun(
            task=task,
            token=token,
            outcome=Outcome.SUPERSEDED,
            reason="a newer placement exists",
            notice_ms=0,
        )
        self._send(node, stop)

    def _ended(self, run: RegionRun, update: AgentRunUpdate) -> None:
        core = self._core
        cause = classify(update, run.stop)
        seen = replace(
            run,
            started_ms=run.started_ms or update.started_ms,
            exit_code=update.exit_code,
            signal=update.signal,
            placed_ms=max(run.placed_ms, update.boot_ms),
            resumed_step=update.resumed_step or run.resumed_step,
            outputs=update.outputs,
            logs=update.logs,
        )
        core.scheduling.ended(seen.placed_ms)
        if self._goes_elsewhere(seen, cause):
            self._requeue(run, seen, cause.message, cause=cause.cause)
        else:
            self._finish(run, seen, cause)
        self._send(run.node, AckRun(task=run.task, token=run.token))

    def _goes_elsewhere(self, run: RegionRun, cause: Cause) -> bool:
        is_lost = cause.outcome is Outcome.LOST or cause.failure_class in _ELSEWHERE
        return is_lost and run.stop is None and run.local_retries > 0

    def _requeue(self, before: RegionRun, seen: RegionRun, message: str, *, cause: str) -> None:
        core = self._core
        after = lifecycle.requeued(seen, message, cause=cause, exclude=cause == "region")
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
        )
        core.change(before, after, [usage.run_end_body(after, core.site.region)])
        core.upward.tell(after)
        if after.native:
            core.close(after)

    def _sampled(self, node: Node, sample: UsageSample) -> None:
        core = self._core
        run = self._run_of(node, sample.task, sample.token)
        if run is None:
            self._ack_usage(node.id, sample)
            return
        if sample.interval > run.intervals + 1:
            return
        if sample.interval == run.intervals + 1 and run.is_live:
            after = replace(
                run,
                intervals=sample.interval,
                placed_ms=run.placed_ms + sample.boot_ms,
                usage_complete=sample.final,
                revision=run.revision + 1,
            )
            core.change(run, after, usage.sample_bodies(run, sample, core.site.region))
        self._ack_usage(node.id, sample)

    def _ack_usage(self, node: str, sample: UsageSample) -> None:
        ack = AckUsage(task=sample.task, token=sample.token, interval=sample.interval)
        self._send(node, ack)

    def _checkpoint(self, node: Node, offer: CheckpointOffer) -> None:
        """Compare-and-swap on the token: one row, a newer token or step replaces it (I4)."""
        core = self._core
        run = self._run_of(node, offer.task, offer.token)
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
        after = replace(
            run,
            checkpoint=ref,
            kept_ms=max(run.kept_ms, offer.written_boot_ms),
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
        self._send(node, verdict)

    # --- silence ---------------------------------------------------------------------------------

    def tick(self) -> None:
        """Look at the nodes that do not answer."""
        core = self._core
        for node_id in self._silent():
            for run in [r for r in core.runs.values() if r.is_live and r.node == node_id]:
                if run.is_move and core.now.boot_ns >= self._lease_over_ns(node_id):
                    self._lost(run, "its node was silent until the lease was over")
            node = core.nodes.get(node_id)
            if node is not None and core.now.boot_ns >= self._unknown_ns(node_id):
                node.unknown = True
        self._schedule()

    def _lost(self, run: RegionRun, message: str) -> None:
        """A placement that cannot live any longer: elsewhere if it may, else it ends LOST."""
        cause = Cause(Outcome.LOST, FailureClass.HARDWARE, "region", message)
        if run.stop is not None:
            stopped = Cause(run.stop.outcome, None, run.stop.cause, run.stop.reason)
            self._finish(run, run, stopped)
        elif self._goes_elsewhere(run, cause):
            self._requeue(run, run, message, cause="region")
        else:
            self._finish(run, run, cause)

    def _silent(self) -> list[str]:
        """Nodes that hold runs and are not attached, among them those not seen in this life."""
        holding = {run.node for run in self._core.runs.values() if run.is_live and run.node}
        detached = {id_ for id_, node in self._core.nodes.items() if not node.link}
        unseen = holding - self._core.nodes.keys()
        return sorted((holding & detached) | detached | unseen)

    def _granted_ns(self, node_id: str) -> int:
        node = self._core.nodes.get(node_id)
        return node.granted_ns if node is not None else self._core.started_ns

    def _lease_over_ns(self, node_id: str) -> int:
        return self._granted_ns(node_id) + self._core.timing.agent_lease_over_ms * MS

    def _unknown_ns(self, node_id: str) -> int:
        node = self._core.nodes.get(node_id)
        lost_ns = node.lost_ns if node is not None else self._core.started_ns
        return lost_ns + self._core.timing.unknown_after_ms * MS

    def _schedule(self) -> None:
        """The next instant at which a silent node's runs may move, or the node becomes UNKNOWN."""
        dues: list[int] = []
        for node_id in self._silent():
            dues.extend((self._lease_over_ns(node_id), self._unknown_ns(node_id)))
        self._due = min((due for due in dues if due > self._core.now.boot_ns), default=None)

    def _send(self, node: str, message: FromRegionToAgent) -> None:
        self._core.emit(ToNode(node=node, message=message))
