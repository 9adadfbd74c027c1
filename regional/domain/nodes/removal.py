"""Nodes that an operator declared dead: what they held goes elsewhere, and what if they come back.

The operator's word is proof of death for the runs, but the row outlives it: a node that comes back
is let in only to stop what it still has. Until it has reported the end of all of it, it gets no new
work, and what the old placements took stays taken. A node that began anew, and so can hold nothing
of before, is a node like any other at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intertie.drive.effects import Erase, Fail, Record, Reply, Write
from intertie.errors import Reason, error
from intertie.model.agentlink import AgentRunUpdate
from intertie.model.states import RunState
from intertie.values import quick
from regional.domain.events import RemoveNode
from regional.domain.nodes.fencing import gave_up, life_of, placement_of
from regional.domain.nodes.pool import Node

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

SHARD = 0
REMOVED = "removed"
"""The kind of rows: one per node that was declared dead and has not come back clean, by its id."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """`life` is the boot and the life of the keeper as last known; empty if the region had begun
    anew and the node held nothing. `removed_ms` in UTC ms.
    """

    node: str
    life: str = ""
    removed_ms: int = 0
    reason: str = ""


class Removal:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core
        self._rows: dict[str, Removed] = {}

    def load(self, row: Removed) -> None:
        """Take a row back at the start."""
        self._rows[row.node] = row

    def ordered(self, event: RemoveNode) -> None:
        """An operator attests that a node is dead: that is proof of death for all that it held.

        The way out for runs that never start elsewhere by silence alone.
        """
        core, node = self._core, self._core.nodes.get(event.node)
        if node is not None and node.link:
            message = f"{event.node} is attached: it lives, and can stop its runs itself."
            remedy = "Evict its runs; remove it when it is switched off."
            core.emit(Fail(event.ticket, error(Reason.WRONG_STATE, message, remedy=remedy)))
            return
        held = core.held_by(event.node)
        if node is None and not held.is_taken and event.node not in self._rows:
            message = f"There is no node {event.node[:63]}."
            core.emit(
                Fail(event.ticket, error(Reason.NOT_FOUND, message, remedy="List the nodes."))
            )
            return
        runs = len(held.runs)
        self._keep(event, node)
        for run in list(held.runs.values()):
            why = f"an operator declared {event.node} dead: {event.reason}"
            core.ends.lost(run, why, dead=True)
            core.fencing.keep(run)  # for the case that it comes back
        assert not held.runs, "a dead node runs nothing"
        core.downward.forget(event.node)
        core.reserve(event.request_id, event.request_digest, str(runs))
        core.emit(Reply(event.ticket, runs))
        core.scheduling.freed()

    def _keep(self, event: RemoveNode, node: Node | None) -> None:
        held = self._core.held_by(event.node)
        lives = [run.life for run in (*held.unfenced.values(), *held.runs.values())]
        life = life_of(node.hello) if node is not None else (lives or [""])[-1]
        row = Removed(
            node=event.node, life=life, removed_ms=self._core.now.utc_ms, reason=event.reason
        )
        self._rows[row.node] = row
        self._core.emit(Write(SHARD, REMOVED, row.node, row))
        self._record(row.node, {"removed": event.reason, "life": life, "runs": len(held.runs)})

    def attached(self, node: Node) -> None:
        """A node came: if it was declared dead, it has to report the end of what may live there.

        Called after fencing has dropped the claims that its boot and its keeper prove to be dead.
        """
        if node.id not in self._rows:
            return
        assert not node.held.runs, "what was declared dead gets no work"
        listed = [run for run in node.hello.runs if run.state is not RunState.ENDED]
        node.owes = {placement_of(run.task, run.token) for run in listed}
        node.owes |= node.held.unfenced.keys()
        self._settle(node)

    def heard(self, node: Node, update: AgentRunUpdate) -> bool:
        """A node reports an end; returns whether it is one that has not been settled by it.

        Where processes are left, the node must not forget it: another end is waited for.
        """
        placement = placement_of(update.task, update.token)
        if update.state is not RunState.ENDED or placement not in node.owes:
            return False
        if gave_up(update):
            return True
        node.owes.discard(placement)
        self._settle(node)
        return False

    def _settle(self, node: Node) -> None:
        if node.owes:
            return
        row = self._rows.pop(node.id)
        assert not node.held.is_taken, "a node that owes nothing holds nothing"
        self._core.emit(Erase(SHARD, REMOVED, node.id))
        self._record(node.id, {"back": life_of(node.hello), "life": row.life})
        self._core.scheduling.freed()

    def _record(self, node: str, fact: Mapping[str, str | int]) -> None:
        """Every removal and every return is in the audit chain, with or without runs (I14)."""
        self._core.emit(Record(SHARD, node, self._core.site.region, {"node": node, **fact}))
