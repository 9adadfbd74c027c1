"""The region's side of its links to agents: who is attached, orders to them, lost nodes.

A node out of touch loses nothing by silence alone. `move` runs stop themselves when their lease is
over, and only then may they start elsewhere; the others wait for the node, for proof of death
(another boot, or a keeper that began anew), or for an operator.
"""

from typing import TYPE_CHECKING

from intertie.capability.derive import History, tags
from intertie.model.agentlink import (
    AckRun,
    AgentLease,
    AgentRunUpdate,
    AgentWelcome,
    Beat,
    CheckpointOffer,
    FromRegionToAgent,
    StopRun,
    UsageSample,
)
from intertie.model.states import RUN_TRANSITIONS, Outcome, RunState
from intertie.model.token import Token
from regional.domain.events import NodeDown, NodeSaid, NodeUp, ToNode
from regional.domain.nodes.fencing import is_dead, life_of
from regional.domain.nodes.orders import start_order
from regional.domain.nodes.pool import Node
from regional.domain.runs import run as lifecycle
from regional.domain.runs import usage
from regional.domain.runs.run import RegionRun, StopOrder

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

MS = 1_000_000
_HOUR_NS = 3_600_000 * MS


class Downward:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core
        self._due: int | None = None
        self._silent: set[str] = set()

    @property
    def deadline(self) -> int | None:
        """When the next silence becomes news, as boot_ns."""
        return self._due

    def watch_silence_from_start(self) -> None:
        """After a restart: nodes that hold runs and have not attached yet are silent."""
        self._silent = {node for node, held in self._core.held.items() if held.runs}
        self._schedule()

    # --- orders ----------------------------------------------------------------------------------

    def start(self, run: RegionRun, node: str, devices: tuple[int, ...]) -> None:
        """Place a run on a node: durable first, with its placement record; then it is sent."""
        core = self._core
        assert core.nodes[node].takes_work, "a run is placed on a node that answers, owing nothing"
        hello = core.nodes[node].hello
        place = hello.site or core.site.jurisdiction
        ruling = core.residence.ruling(run.spec, place)
        if not ruling.allowed:  # a node refines the place of its region
            core.residence.send_back(run, ruling)
            return
        metered_ms = core.held_by(node).metered_until_ms
        after = lifecycle.placed(
            run, node, life_of(hello), devices, core.now.utc_ms, metered_ms=metered_ms
        )
        policy_sha256 = core.residence.policy.sha256
        body = usage.placement_body(after, core.site.region, place, policy_sha256, ruling)
        core.change(run, after, [body])
        core.upward.tell(after)
        self._send_start(after)

    def stop(self, run: RegionRun, order: StopOrder) -> RegionRun:
        """Stop a run: at once if no node has it, else by its node; the first order stands."""
        core = self._core
        assert run.is_live, "an ended run is not stopped"
        if run.state is RunState.QUEUED:
            after = lifecycle.ended(
                run, order.outcome, core.now.utc_ms, cause=order.cause, message=order.reason
            )
            core.assignments.finish(after)
            return after
        if run.stop is None:
            awaited = self._awaited(run)
            after = lifecycle.moved(run, RunState.STOPPING, stop=order, message=awaited)
            core.change(run, after)
            core.upward.tell(after)
            run = after
        self._send_stop(run)
        return run

    def _awaited(self, run: RegionRun) -> str:
        """What a run that is being stopped waits for, if its node does not hear the order."""
        node = self._core.nodes.get(run.node)
        if node is not None and node.link:
            return ""
        end = "its lease is over" if run.is_move else "it is known to be dead"
        return f"{run.node} is out of touch and may still run it, until it answers or {end}"

    def _tell_awaited(self, node: str) -> None:
        """A node came or went: what the runs on it that are being stopped wait for."""
        for run in list(self._core.held_by(node).runs.values()):
            awaited = self._awaited(run)
            if run.stop is not None and run.message != awaited:
                after = lifecycle.moved(run, run.state, message=awaited)
                self._core.change(run, after)
                self._core.upward.tell(after)

    def _send_start(self, run: RegionRun) -> None:
        self.send(run.node, start_order(run, self._lease_ms(run), self._core.residence.paths))

    def _send_stop(self, run: RegionRun) -> None:
        assert run.stop is not None, "a stop without an order"
        assert run.node, "a stop without a node"
        notice_ms = run.stop.notice_ms
        order = StopRun(
            task=run.task,
            token=run.token,
            outcome=run.stop.outcome,
            reason=run.stop.reason,
            notice_ms=notice_ms if notice_ms >= 0 else self._core.timing.notice_ms,
        )
        self.send(run.node, order)

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
        since_ns = before.since_ns if before is not None else core.now.boot_ns
        faults = before.faults + before.unknown if before is not None else 0
        history = History(hours=(core.now.boot_ns - since_ns) / _HOUR_NS, faults=faults)
        node = Node(
            hello,
            event.link,
            granted,
            core.held_by(hello.node),
            heard_ns=core.now.boot_ns,
            heard_ms=core.now.utc_ms,
            since_ns=since_ns,
            faults=faults,
            tags=tags(hello.capability, history, core.site.declared),
        )
        core.nodes[hello.node] = node
        core.lender.attached()
        unfenced = core.fencing.attached(hello)
        core.removal.attached(node)
        self._silent.discard(hello.node)
        self.send(
            hello.node,
            AgentWelcome(
                region=core.site.region,
                incarnation=core.site.incarnation,
                software=core.site.software,
                protocol=1,
                beat_ms=core.timing.beat_every_ms,
                jurisdiction=core.site.jurisdiction,
                kill_ms=core.timing.kill_ms,
                delta_ms=core.timing.delta_ms,
            ),
        )
        self._adopt(node)
        self._tell_awaited(node.id)
        for run in unfenced:
            self._ask_after(run)
        core.scheduling.freed()

    def _adopt(self, node: Node) -> None:
        """Compare what the node holds with what it should hold (restart re-adopts)."""
        listed = {(r.task, r.token): r.state for r in node.hello.runs}
        for run in list(node.held.runs.values()):
            if listed.pop((run.task, run.token), None) is not None:
                if run.stop is not None:
                    self._send_stop(run)
            elif not run.has_begun and run.stop is None:
                self._send_start(run)
            elif not run.has_begun:
                self._core.ends.lost(run, "it had not started")
            elif run.life != life_of(node.hello) and is_dead(run, node.hello):
                self._core.ends.lost(run, "its node began anew without it")
            elif run.unkillable:
                continue  # that the node has forgotten it says nothing
            else:
                self._ask_after(run)
        for (task, token), state in listed.items():
            self._not_ours(node.id, task, token, state)

    def _ask_after(self, run: RegionRun) -> None:
        """The keeper that started it still lives, but does not list it: that is no proof of death.

        A node answers a stop of what it does not have by an ENDED update with `lost` as evidence.
        """
        order = StopRun(
            task=run.task,
            token=run.token,
            outcome=Outcome.LOST,
            reason="the node does not list it",
            notice_ms=0,
        )
        self.send(run.node, order)

    def _down(self, event: NodeDown) -> None:
        node = self._core.nodes.get(event.node)
        if node is not None and node.link == event.link:
            node.link, node.lost_ns = 0, node.heard_ns
            self._silent.add(node.id)
            self._tell_awaited(node.id)

    def heard(self, event: NodeSaid) -> None:
        """A message of a node, by its present link only."""
        node = self._core.nodes.get(event.node)
        if node is None or node.link != event.link:
            return
        node.heard_ns, node.heard_ms = self._core.now.boot_ns, self._core.now.utc_ms
        match event.message:
            case Beat(seq=seq):
                node.granted_ns = self._core.now.boot_ns
                self.send(node.id, AgentLease(seq=seq, lease_ms=self._lease_ms()))
            case AgentRunUpdate() as update:
                self._updated(node, update)
            case UsageSample() as sample:
                self._core.progress.sampled(node, sample)
            case CheckpointOffer() as offer:
                self._core.progress.offered(node, offer)
            case _:
                raise AssertionError(f"a {type(event.message).__name__} is not for the core")

    # --- what nodes say of runs ------------------------------------------------------------------

    def run_of(self, node: Node, task: str, token: Token) -> RegionRun | None:
        """The run, if this node acts for it under the present token (I4)."""
        run = self._core.runs.get(f"{task}@{token.epoch}")
        ours = run is not None and run.node == node.id and run.token == token
        return run if ours else None

    def _updated(self, node: Node, update: AgentRunUpdate) -> None:
        self._core.fencing.heard(node.id, update)
        if self._core.removal.heard(node, update):
            return
        run = self.run_of(node, update.task, update.token)
        if run is None or not run.is_live:
            self._not_ours(node.id, update.task, update.token, update.state)
            return
        if update.state is RunState.ENDED:
            self._core.ends.told(run, update)
            return
        state = RunState.STOPPING if run.stop is not None else update.state
        has_started = bool(update.started_ms) and not run.started_ms
        unkillable = run.unkillable or bool(update.evidence.get("unkillable"))
        is_news = has_started or unkillable != run.unkillable
        if (state is run.state or not may_run(run.state, state)) and not is_news:
            return
        after = lifecycle.moved(
            run,
            state if may_run(run.state, state) else run.state,
            started_ms=run.started_ms or update.started_ms,
            resumed_step=update.resumed_step or run.resumed_step,
            unkillable=unkillable,
        )
        self._core.change(run, after)
        self._core.upward.tell(after)

    def _not_ours(self, node: str, task: str, token: Token, state: RunState) -> None:
        if state is RunState.ENDED:
            self.send(node, AckRun(task=task, token=token))
            return
        stop = StopRun(
            task=task,
            token=token,
            outcome=Outcome.SUPERSEDED,
            reason="a newer placement exists",
            notice_ms=0,
        )
        self.send(node, stop)

    def forget(self, node: str) -> None:
        """A node is no more: its silence is no news."""
        self._core.nodes.pop(node, None)
        self._silent.discard(node)
        self._schedule()

    # --- silence ---------------------------------------------------------------------------------

    def tick(self) -> None:
        """Look at the nodes that do not answer."""
        if self._due is None or self._core.now.boot_ns < self._due:
            return
        core = self._core
        for node_id in sorted(self._silent):
            if core.now.boot_ns >= self._lease_over_ns(node_id):
                held = core.held_by(node_id)
                for run in [r for r in held.runs.values() if r.is_move]:
                    core.ends.lost(run, "its node was silent until the lease was over", silent=True)
                    core.fencing.keep(run)
            node = core.nodes.get(node_id)
            if node is not None and core.now.boot_ns >= self._unknown_ns(node_id):
                node.unknown = True
        self._schedule()

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
        dues = [
            due(node_id)
            for node_id in self._silent
            for due in (self._lease_over_ns, self._unknown_ns)
        ]
        self._due = min((due for due in dues if due > self._core.now.boot_ns), default=None)

    def send(self, node: str, message: FromRegionToAgent) -> None:
        """Send downward; lost if the node is not attached, repaired when it attaches."""
        known = self._core.nodes.get(node)
        if known is not None and known.link:
            self._core.emit(ToNode(node=node, link=known.link, message=message))


def may_run(before: RunState, after: RunState) -> bool:
    """Whether a report is news: late ones of an earlier state are not."""
    return before is after or after in RUN_TRANSITIONS[before]
