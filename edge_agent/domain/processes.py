"""What the keeper does and tells: starts, ends, measurements, and its own death.

The keeper's word is the truth about processes; the rows here are the truth about what the region
was promised. Whenever a keeper answers anew, the two are compared.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from edge_agent.domain import usage
from edge_agent.domain.agenda import Due
from edge_agent.domain.events import (
    Collect,
    Collected,
    Forget,
    Halt,
    KeeperDown,
    KeeperUp,
    Launch,
    LaunchRefused,
    Measure,
    Measured,
    Process,
    ProcessEnd,
    RunKey,
)
from edge_agent.domain.orders import evidence_of
from edge_agent.domain.run import MS, End, NodeRun, Phase, Stop, moved, update_of
from intertie.metering.intervals import INTERVAL_MS
from intertie.model.states import Outcome

if TYPE_CHECKING:
    from edge_agent.domain.core import AgentCore

_STARTED = (Phase.RUNNING, Phase.STOPPING)


class Processes:
    """See the module's text."""

    def __init__(self, core: "AgentCore") -> None:
        self._core = core
        self._is_up = False
        self._down_ns = 0
        self._launched: set[RunKey] = set()
        self._collecting: set[RunKey] = set()

    def may_exist(self, run: NodeRun) -> bool:
        """Whether the keeper may have a process of a live run.

        Until a keeper has answered this core, one that was to start may have been launched by the
        core before it, which a failed commit discarded.
        """
        unasked = not self._is_up and run.phase is Phase.STARTING
        return unasked or run.key in self._launched or run.phase in _STARTED

    # --- the keeper ------------------------------------------------------------------------------

    def keeper_up(self, event: KeeperUp) -> None:
        """Compare what the keeper has with what should be."""
        core = self._core
        self._is_up = True
        self._launched.clear()
        present = {process.key: process for process in event.processes}
        for run in list(core.runs.values()):
            process = present.pop(run.key, None)
            if process is not None:
                self.seen(process)
                self._stop_again(run.key)
            else:
                self._absent(run)
        for process in present.values():
            self._unknown(process)
        self._down_ns = 0

    def keeper_down(self, _: KeeperDown) -> None:
        """Its tasks die with it; their end is told when a keeper answers again."""
        if self._is_up:
            self._is_up, self._down_ns = False, self._core.now.boot_ns

    def _absent(self, run: NodeRun) -> None:
        """The keeper has nothing of this run."""
        match run.phase:
            case Phase.STAGING:
                self._core.order_book.stage(run)
            case Phase.STARTING:
                self.launch(run)
            case Phase.RUNNING | Phase.STOPPING:
                self._gone(run)
            case Phase.COLLECTING:
                self._collect(run)

    def _gone(self, run: NodeRun) -> None:
        """The keeper's record of a started run is gone: all that is known is that it is over."""
        end = ProcessEnd(at_ns=self._core.now.boot_ns, evidence={"lost": "1"}, lost=True)
        if run.started_ns:
            self._died(run, end)
        else:
            evidence = evidence_of(run.stop) if run.stop is not None else end.evidence
            self._core.order_book.end_unstarted(run, evidence)

    def _stop_again(self, key: RunKey) -> None:
        run = self._core.runs[key]
        if run.is_live and run.stop is not None:
            self._core.order_book.halt(run, run.stop)
        elif run.phase is Phase.COLLECTING:
            self._collect(run)

    def _unknown(self, process: Process) -> None:
        """A run that nobody here answers for."""
        if process.end is not None:
            self._core.emit(Forget(process.key, process.n))
        else:
            reason = "this agent has no order for it"
            self._core.emit(Halt(key=process.key, n=process.n, reason=reason, notice_ms=0))

    # --- starting --------------------------------------------------------------------------------

    def launch(self, run: NodeRun) -> None:
        """Start a staged run; a `move` run only under a lease, else when there is one."""
        core = self._core
        ready = run.phase is Phase.STARTING and run.key not in self._launched and self._is_up
        if not ready or (run.is_move and not core.lease.holds(core.now.boot_ns)):
            return
        deadline = core.lease.stop_at_ns if run.is_move else None
        assert deadline is None or deadline > core.now.boot_ns, f"{run.key}: no lease"
        self._launched.add(run.key)
        core.emit(Launch(run.key, core.orders[run.key], run.slot, deadline))

    def launch_refused(self, event: LaunchRefused) -> None:
        """The keeper did not take it."""
        core = self._core
        self._launched.discard(event.key)
        run = core.runs.get(event.key)
        if run is None or not run.is_live:
            return
        if run.phase is Phase.STOPPING:
            assert run.stop is not None, f"{run.key} stops without an order"
            core.order_book.end_unstarted(run, evidence_of(run.stop))
        elif event.retry:
            core.agenda.add(core.now.boot_ns + core.node.retry_ms * MS, Due.LAUNCH, run.key)
        else:
            core.order_book.end_unstarted(run, event.evidence)

    def halt_missed(self, key: RunKey) -> None:
        """There was nothing to stop."""
        run = self._core.runs.get(key)
        if run is not None and run.is_live:
            self._launched.discard(key)
            self._gone(run)

    # --- what is seen ----------------------------------------------------------------------------

    def seen(self, process: Process) -> None:
        """The present state of a run's process."""
        run = self._core.runs.get(process.key)
        if run is None:
            self._unknown_seen(process)
            return
        if not run.is_live:
            return
        self._launched.add(run.key)
        if run.phase is Phase.STAGING:
            run = moved(run, Phase.STARTING)
        unseen_end = process.end is not None and process.end.lost
        if process.started_ns is not None and not run.started_ns and not unseen_end:
            run = self._with_start(run, process)
        if process.end is not None:
            self._died(run, process.end)
        elif process.running:
            self._running(run)
        if process.unkillable and process.end is None:
            told = replace(update_of(run), evidence={"unkillable": "1"})
            self._core.telling.say(told)

    def _unknown_seen(self, process: Process) -> None:
        if process.end is not None:
            self._core.emit(Forget(process.key, process.n))

    def _with_start(self, run: NodeRun, process: Process) -> NodeRun:
        now = self._core.now
        started_ns = process.started_ns
        assert started_ns is not None, f"{run.key} has no start"
        assert process.key == run.key, f"{process.key} is not {run.key}"
        return replace(
            run,
            pid=process.pid,
            boot_id=process.boot_id,
            started_ns=started_ns,
            started_ms=now.utc_ms - max(0, now.boot_ns - started_ns) // MS,
        )

    def _running(self, run: NodeRun) -> None:
        core = self._core
        if run.phase is Phase.STARTING:
            run = moved(run, Phase.RUNNING)
        core.put(run)
        core.telling.flush(run)
        core.agenda.add(usage.next_cut_ns(run), Due.SAMPLE, run.key)
        if run.phase is Phase.RUNNING:
            core.saving.begin(run)

    # --- time ------------------------------------------------------------------------------------

    def due(self, due: Due, run: NodeRun) -> None:
        """Something of a run is due."""
        core = self._core
        if due is Due.LAUNCH:
            self.launch(run)
        elif due is Due.CHECKPOINT:
            core.saving.due(run)
        elif run.phase in _STARTED and run.started_ns:
            cut_ns = usage.next_cut_ns(run)
            if cut_ns <= core.now.boot_ns:
                core.emit(Measure(run.key, run.n))
                cut_ns = core.now.boot_ns + INTERVAL_MS * MS
            core.agenda.add(cut_ns, Due.SAMPLE, run.key)

    def measured(self, event: Measured) -> None:
        """Cut the intervals that are over."""
        run = self._core.runs.get(event.key)
        if run is None or run.phase not in _STARTED:
            return
        after = self._core.cut(
            run, run.ran_ms(event.at_ns), event.cpu_ms, event.memory_peak, final=False
        )
        if after is not run:
            self._core.put(after)
            self._core.telling.flush(after)
        self._core.agenda.add(usage.next_cut_ns(after), Due.SAMPLE, run.key)

    # --- ends ------------------------------------------------------------------------------------

    def _died(self, run: NodeRun, end: ProcessEnd) -> None:
        """Every process is dead, and that is verified: close the books, then collect."""
        core = self._core
        self._launched.discard(run.key)
        core.saving.over(run.key)
        if not run.started_ns:
            evidence = self._evidence(run.stop, end)
            core.order_book.end_unstarted(run, evidence, end.message)
            return
        assert run.end is None, f"{run.key} ends twice"
        run_ms = max(run.sampled_ms, self._run_ms(run, end))
        cpu_ms = max(run.sampled_cpu_ms, end.cpu_ms)
        run = core.cut(run, run_ms, cpu_ms, end.memory_peak, final=True)
        assert run.sampled_ms == run_ms, f"{run.key}: samples of {run.sampled_ms} ms of {run_ms}"
        over = End(
            at_ms=run.started_ms + run_ms,
            run_ms=run_ms,
            exit_code=end.exit_code,
            signal=end.signal,
            evidence=self._evidence(run.stop, end),
            message=end.message,
        )
        if self._leaves_something(run, over, end):
            after = moved(run, Phase.COLLECTING, end=over)
            core.put(after)
            self._collect(after)
        else:
            after = moved(run, Phase.ENDED, end=over)
            core.put(after)
        core.telling.flush(after)

    def _run_ms(self, run: NodeRun, end: ProcessEnd) -> int:
        """Run time. An end that nobody saw counts up to the last evidence of life."""
        if run.boot_id != self._core.now.boot_id:
            return run.sampled_ms
        if not end.lost:
            return run.ran_ms(end.at_ns)
        return run.ran_ms(min(self._down_ns, end.at_ns)) if self._down_ns else run.sampled_ms

    def _evidence(self, stop: Stop | None, end: ProcessEnd) -> dict[str, str]:
        replaced = stop is not None and stop.outcome is Outcome.SUPERSEDED
        return {**end.evidence, **({"superseded": "1"} if replaced else {})}

    def _leaves_something(self, run: NodeRun, over: End, end: ProcessEnd) -> bool:
        if "superseded" in over.evidence:
            return False
        order = self._core.orders[run.key]
        saves = bool(run.checkpoint_interval_ms) and not over.by_itself
        return bool(order.outputs or end.log_bytes or saves or end.lost)

    def _collect(self, run: NodeRun) -> None:
        assert run.end is not None, f"{run.key} is collected before its end"
        assert run.phase is Phase.COLLECTING, f"{run.key} is {run.phase}"
        if run.key in self._collecting:
            return
        self._collecting.add(run.key)
        saves = bool(run.checkpoint_interval_ms) and not run.end.by_itself
        above = run.saved_step if saves else None
        self._core.emit(Collect(run.key, self._core.orders[run.key], run.slot, above))

    def collected(self, event: Collected) -> None:
        """Outputs and logs are safe: now the end may be told."""
        core = self._core
        self._collecting.discard(event.key)
        run = core.runs.get(event.key)
        if run is None or run.phase is not Phase.COLLECTING:
            return
        assert run.end is not None, f"{run.key} is collected before its end"
        if event.saved is not None and event.saved.step > run.saved_step:
            run = core.saving.with_offer(run, event.saved)
        assert run.end is not None, f"{run.key} is collected before its end"
        missing = {"output": event.fault} if event.fault and run.end.by_itself else {}
        end = replace(
            run.end,
            outputs=event.outputs,
            logs=event.logs,
            evidence={**run.end.evidence, **missing},
        )
        ended = moved(run, Phase.ENDED, end=end)
        core.put(ended)
        core.telling.flush(ended)
