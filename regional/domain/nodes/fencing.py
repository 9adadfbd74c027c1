"""Claims that stand though their placement was given up: nobody has said that it is dead.

A placement ends for the region when its lease is over in silence, or when its node gives up killing
it. Both rest on a kill that nobody has verified (safety.md, C3): until the node reports the death,
or comes back as one on which it cannot live, what the placement held stays taken, and the node is
shown as unfenced. The run itself is not held up by it. Must not move or end runs.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from intertie.drive.effects import Erase, Write
from intertie.model.agentlink import AgentHello, AgentRunUpdate
from intertie.model.states import RunState
from intertie.model.token import Token
from regional.domain.nodes.pool import Held
from regional.domain.runs.run import RegionRun

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

SHARD = 0
UNFENCED = "unfenced"
"""The kind of rows: the run as it was on the node, by task and token."""


class Fencing:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core

    def load(self, run: RegionRun) -> None:
        """Take a row back at the start."""
        self._core.held_by(run.node).keep(run)

    def keep(self, run: RegionRun) -> None:
        """A placement was given up, and its death is not known."""
        held = self._core.held_by(run.node)
        assert run.key not in held.runs, "it is given up already"
        held.keep(run)
        self._core.emit(Write(SHARD, UNFENCED, run.placement, run))

    def heard(self, node: str, update: AgentRunUpdate) -> None:
        """A node reports an end: the claim goes, unless it says that processes are left."""
        run = self._held(node).unfenced.get(placement_of(update.task, update.token))
        if run is None or update.state is not RunState.ENDED:
            return
        if gave_up(update):
            self.keep(replace(run, unkillable=True))
        else:
            self._drop(run)

    def attached(self, hello: AgentHello) -> list[RegionRun]:
        """A node came: drop what cannot live on it any longer; returns what must be asked after.

        What could not be killed is not asked after: that the node has forgotten it says nothing.
        """
        listed = {placement_of(run.task, run.token) for run in hello.runs}
        open_: list[RegionRun] = []
        for run in list(self._held(hello.node).unfenced.values()):
            if run.placement not in listed and is_dead(run, hello):
                self._drop(run)
            elif run.placement not in listed and not run.unkillable:
                open_.append(run)
        return open_

    def _drop(self, run: RegionRun) -> None:
        self._held(run.node).let_go(run.placement)
        self._core.emit(Erase(SHARD, UNFENCED, run.placement))
        self._core.scheduling.freed()

    def _held(self, node: str) -> Held:
        return self._core.held_by(node)


def gave_up(update: AgentRunUpdate) -> bool:
    """Whether a node ended a run of which processes are left, for it could not kill them.

    A run that was merely slow to die is told as `unkillable` too, but not as `lost`.
    """
    return bool(update.evidence.get("unkillable") and update.evidence.get("lost"))


def is_dead(run: RegionRun, hello: AgentHello) -> bool:
    """Whether no process can be left of a placement that a node, as it now is, does not list.

    Another boot is proof. Another keeper is, unless the kill failed already: it kills what the one
    before it left, and lists what it could not.
    """
    boot, _, keeper = run.life.partition("/")
    other_keeper = keeper != hello.keeper_incarnation
    return boot != hello.boot_id or (other_keeper and not run.unkillable)


def life_of(hello: AgentHello) -> str:
    """Under which no process of an earlier one can live: the boot, and the life of the keeper."""
    return f"{hello.boot_id}/{hello.keeper_incarnation}"


def placement_of(task: str, token: Token) -> str:
    """Names one placement."""
    return f"{task}@{token}"
