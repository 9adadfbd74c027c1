"""Training checkpoints: look for a complete one, offer it, wait for the verdict, then look again.

One is on its way for a run at any time, at most one per interval, and the newest wins: what the
task wrote in between is skipped.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from edge_agent.domain.agenda import Due
from edge_agent.domain.events import (
    CheckpointLooked,
    LookForCheckpoint,
    RunKey,
    SavedCheckpoint,
    offer_of,
)
from edge_agent.domain.run import MS, NodeRun, Phase
from intertie.model.agentlink import CheckpointVerdict

if TYPE_CHECKING:
    from edge_agent.domain.core import AgentCore


class Saving:
    """See the module's text."""

    def __init__(self, core: "AgentCore") -> None:
        self._core = core
        self._looking: set[RunKey] = set()
        self._looked_ns: dict[RunKey, int] = {}

    def begin(self, run: NodeRun) -> None:
        """A run that saves its state is running."""
        if run.checkpoint_interval_ms:
            self._again(run, self._core.now.boot_ns)

    def _again(self, run: NodeRun, after_ns: int) -> None:
        assert run.checkpoint_interval_ms > 0, f"{run.key} saves nothing"
        due_ns = max(after_ns + run.checkpoint_interval_ms * MS, self._core.now.boot_ns)
        self._core.agenda.add(due_ns, Due.CHECKPOINT, run.key)

    def due(self, run: NodeRun) -> None:
        """Look, if the region listens and nothing is on its way."""
        core = self._core
        if run.phase is not Phase.RUNNING or run.key in self._looking:
            return
        if core.telling.is_unsettled(run.key):
            return
        if not core.telling.link:
            self._again(run, core.now.boot_ns)
            return
        self._looking.add(run.key)
        self._looked_ns[run.key] = core.now.boot_ns
        core.emit(LookForCheckpoint(run.key, run.slot, run.saved_step))

    def looked(self, event: CheckpointLooked) -> None:
        """What was found."""
        self._looking.discard(event.key)
        run = self._core.runs.get(event.key)
        if run is None or not run.is_live:
            return
        if event.saved is None or event.saved.step <= run.saved_step:
            self._again(run, self._looked_ns[event.key])
            return
        after = self.with_offer(run, event.saved)
        self._core.put(after)
        self._core.telling.offered(after)

    def with_offer(self, run: NodeRun, saved: SavedCheckpoint) -> NodeRun:
        """The run with a newer checkpoint to offer."""
        assert saved.step > run.saved_step, f"{run.key}: step {saved.step} is no news"
        return replace(run, offer=offer_of(run.key, saved, run.ran_ms(saved.written_ns)))

    def verdict(self, verdict: CheckpointVerdict) -> None:
        """The region has committed it, or never will: the next one may come."""
        run = self._core.runs.get(RunKey(verdict.task, verdict.token))
        if run is None or not self._core.telling.settled(run, verdict.step):
            return
        if run.phase is Phase.RUNNING:
            self._again(run, self._looked_ns.get(run.key, self._core.now.boot_ns))

    def over(self, key: RunKey) -> None:
        """The run has ended: its last checkpoint is collected with the rest."""
        self._looking.discard(key)
        self._looked_ns.pop(key, None)
