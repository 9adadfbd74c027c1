"""Orders of the region: start, stop, forget. Accepted durably before anything is done.

Token rules (I4): an order under an older token than one that is held is refused; a newer one stops
what runs under the older. The node checks its own site against the bounds of the task, though the
region has: a refusal here is the third of four (tasks.md).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edge_agent.domain.events import (
    Abandon,
    Forget,
    Halt,
    RunKey,
    Stage,
    Staged,
    StagingFailed,
)
from edge_agent.domain.run import (
    End,
    NodeRun,
    Phase,
    Stop,
    accepted,
    moved,
    refused_update,
)
from intertie.model.agentlink import StartRun, StopRun, UsageSample
from intertie.model.states import Outcome
from intertie.residency.paths import allowed

if TYPE_CHECKING:
    from edge_agent.domain.core import AgentCore

_REPLACED = Stop(outcome=Outcome.SUPERSEDED, reason="a newer run replaced it", notice_ms=0)


def evidence_of(stop: Stop) -> Mapping[str, str]:
    """What an end by this order shows."""
    name = "superseded" if stop.outcome is Outcome.SUPERSEDED else "stopped"
    return {name: stop.reason or "1"}


class Orders:
    """See the module's text."""

    def __init__(self, core: "AgentCore") -> None:
        self._core = core
        self._staging: set[RunKey] = set()

    # --- start -----------------------------------------------------------------------------------

    def start(self, order: StartRun) -> None:
        """Accept a run, once; then stage it, or start it if there is nothing to stage."""
        core = self._core
        known = core.runs.get(RunKey(order.task, order.token))
        if known is not None:
            core.telling.flush(known, again=True)
            return
        others = [run for run in core.runs.values() if run.key.task == order.task]
        if any(run.key.token > order.token for run in others):
            evidence = {"superseded": "a newer run is here"}
            self._refuse(order.task, RunKey(order.task, order.token), evidence)
            return
        for run in others:
            assert run.key.token < order.token, f"{run.key} and {order.token}"
            self.stop(run, _REPLACED)
        if order.is_move and core.lease.started_with(order.lease_ms):
            core.lease_grew()
        self._accept(order)

    def _accept(self, order: StartRun) -> None:
        core = self._core
        slot = core.slots.next()
        if slot is None:
            key = RunKey(order.task, order.token)
            self._refuse(order.task, key, {"staging": "all slots of the node are taken"})
            return
        run = accepted(order, slot)
        core.accept(order, run)
        site = core.node.site or core.jurisdiction
        ruling = allowed(site, order.within, order.not_within)
        if not ruling.allowed:
            text = f"the node's site: {ruling.reason}"
            self.end_unstarted(run, {"residency": text, "staging": text})
        elif run.phase is Phase.STAGING:
            core.telling.flush(run)
            self.stage(run)
        else:
            core.telling.flush(run)
            core.processes.launch(run)

    def _refuse(self, task: str, key: RunKey, evidence: Mapping[str, str]) -> None:
        """Answer an order that is not taken: an end with its books closed, and no row."""
        now_ms = self._core.now.utc_ms
        self._core.telling.say(
            UsageSample(
                task=task,
                token=key.token,
                interval=1,
                start_ms=now_ms,
                end_ms=now_ms,
                boot_ms=0,
                cpu_used_ms=0,
                memory_peak=0,
                final=True,
            )
        )
        self._core.telling.say(refused_update(task, key.token, now_ms, evidence))

    def stage(self, run: NodeRun) -> None:
        """Bring files and checkpoint here, unless that is under way."""
        assert run.phase is Phase.STAGING, f"{run.key} is {run.phase}"
        if run.key not in self._staging:
            self._staging.add(run.key)
            self._core.emit(Stage(run.key, self._core.orders[run.key], run.slot))

    def staged(self, event: Staged) -> None:
        """Files and checkpoint are in place."""
        run = self._staged_run(event.key)
        if run is not None:
            after = moved(run, Phase.STARTING, resumed_step=event.resumed_step)
            self._core.put(after)
            self._core.telling.flush(after)
            self._core.processes.launch(after)

    def staging_failed(self, event: StagingFailed) -> None:
        """They cannot be."""
        run = self._staged_run(event.key)
        if run is not None:
            self.end_unstarted(run, {"staging": event.message})

    def _staged_run(self, key: RunKey) -> NodeRun | None:
        self._staging.discard(key)
        run = self._core.runs.get(key)
        return run if run is not None and run.phase is Phase.STAGING else None

    # --- stop ------------------------------------------------------------------------------------

    def stop_ordered(self, order: StopRun) -> None:
        """The region stops a run."""
        core = self._core
        stop = Stop(outcome=order.outcome, reason=order.reason, notice_ms=order.notice_ms)
        run = core.runs.get(RunKey(order.task, order.token))
        if run is None:
            unknown = {"lost": "the node has no such run"}
            self._refuse(order.task, RunKey(order.task, order.token), unknown)
        elif run.is_live:
            self.stop(run, stop)
        else:
            core.telling.flush(run, again=True)

    def stop(self, run: NodeRun, stop: Stop) -> None:
        """Stop a live run in whatever phase it is; the first order names the reason."""
        core = self._core
        if not run.is_live:
            return
        if run.phase is Phase.STAGING:
            self._staging.discard(run.key)
            core.emit(Abandon(run.key))
        if run.phase is Phase.STAGING or not core.processes.may_exist(run):
            self.end_unstarted(run, evidence_of(stop))
            return
        assert run.phase is not Phase.ENDED, f"{run.key} has ended"
        if run.phase is not Phase.STOPPING:
            run = moved(run, Phase.STOPPING, stop=stop)
            core.put(run)
            core.telling.flush(run)
        self.halt(run, stop)

    def halt(self, run: NodeRun, stop: Stop) -> None:
        """Have the keeper stop it; a shorter notice hastens a stop that is under way."""
        self._core.emit(
            Halt(key=run.key, n=run.n, reason=stop.reason[:200] or "1", notice_ms=stop.notice_ms)
        )

    # --- ends ------------------------------------------------------------------------------------

    def end_unstarted(self, run: NodeRun, evidence: Mapping[str, str], message: str = "") -> None:
        """The end of a run that never had a process: no time, an empty last sample."""
        core = self._core
        now_ms = core.now.utc_ms
        assert not run.sampled_ms, f"{run.key} has samples"
        assert run.end is None, f"{run.key} ends twice"
        closed = core.cut(
            moved(run, Phase.ENDED, started_ms=now_ms),
            run_ms=0,
            cpu_ms=0,
            memory_peak=0,
            final=True,
        )
        end = End(at_ms=now_ms, run_ms=0, evidence=evidence, message=message)
        ended = closed.with_end(end, started_ms=0)
        core.put(ended)
        core.telling.flush(ended)

    def acknowledged(self, key: RunKey) -> None:
        """The region has the end and all samples: forget the run."""
        run = self._core.runs.get(key)
        if run is not None and run.phase is Phase.ENDED:
            self._core.erase(run)
            self._core.emit(Forget(key, run.n))
