"""What the region still has to be told, and again until it acknowledges.

The order on a link is what the region's books rest on: samples by number, then the newest
checkpoint, then the end. A window bounds what is on its way for one run; a link that comes back
starts over from what was acknowledged. Must not decide what is true, only who has heard it.
"""

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edge_agent.domain.events import RunKey, ToRegion
from edge_agent.domain.run import NodeRun, Phase, update_of
from intertie.model.agentlink import FromAgent, UsageSample
from intertie.model.states import RunState

if TYPE_CHECKING:
    from edge_agent.domain.core import AgentCore

WINDOW = 64
"""Samples of one run that may be unacknowledged on a link."""


@dataclass(slots=True)
class _Told:
    """What one run's region has been sent on this link."""

    state: RunState | None = None
    samples: int = 0
    offer_step: int = 0
    end: bool = False
    sent_ns: int = 0


class Telling:
    """See the module's text."""

    def __init__(self, core: "AgentCore", *, resend_ms: int) -> None:
        self._core = core
        self._resend_ns = resend_ms * 1_000_000
        self._told: dict[RunKey, _Told] = {}
        self._open: set[RunKey] = set()
        self._unsettled: set[RunKey] = set()
        self.samples: dict[RunKey, deque[UsageSample]] = {}
        """Samples that are not acknowledged, by run."""
        self.link = 0
        self.next_ns: int | None = None

    def attached(self, link: int) -> None:
        """The region listens: tell everything that it may lack."""
        assert link > self.link, f"link {link} is not newer than {self.link}"
        self.link = link
        self._told.clear()
        for run in list(self._core.runs.values()):
            self.flush(run)

    def detached(self) -> None:
        """Nobody listens; what is unacknowledged stays."""
        self.link = 0
        self._open.clear()
        self.next_ns = None

    def say(self, message: FromAgent) -> None:
        """Send one message; lost if nobody listens."""
        if self.link:
            self._core.emit(ToRegion(link=self.link, message=message))

    def kept(self, sample: UsageSample, key: RunKey) -> None:
        """There is one more sample."""
        waiting = self.samples.setdefault(key, deque())
        assert not waiting or sample.interval == waiting[-1].interval + 1, f"{key}: a gap"
        waiting.append(sample)

    def offered(self, run: NodeRun) -> None:
        """A checkpoint waits for its verdict."""
        assert run.offer is not None, f"{run.key} offers nothing"
        assert run.key not in self._unsettled, f"{run.key}: two checkpoints are on their way"
        self._unsettled.add(run.key)
        self.flush(run)

    def flush(self, run: NodeRun, *, again: bool = False) -> None:
        """Send what the region was not sent; `again` also what it did not acknowledge."""
        if not self.link:
            return
        if again:
            self._told.pop(run.key, None)
        told = self._told.setdefault(run.key, _Told())
        before = len(self._core.effects)
        self._flush_samples(run, told)
        self._flush_offer(run, told)
        self._flush_state(run, told)
        if len(self._core.effects) > before:
            told.sent_ns = self._core.now.boot_ns
        self._watch(run)

    def _flush_samples(self, run: NodeRun, told: _Told) -> None:
        waiting = self.samples.get(run.key)
        if not waiting:
            return
        last = waiting[0].interval - 1 + WINDOW
        assert waiting[-1].interval <= run.intervals, f"{run.key}: a sample that was never cut"
        for sample in waiting:
            if sample.interval > last:
                return
            if sample.interval > told.samples:
                self.say(sample)
                told.samples = sample.interval

    def _flush_offer(self, run: NodeRun, told: _Told) -> None:
        offer = run.offer
        wanted = run.key in self._unsettled or run.phase is Phase.ENDED
        if offer is not None and wanted and offer.step > told.offer_step:
            self.say(offer)
            told.offer_step = offer.step

    def _flush_state(self, run: NodeRun, told: _Told) -> None:
        update = update_of(run)
        if update.state is not RunState.ENDED:
            if told.state is not update.state:
                self.say(update)
                told.state = update.state
            return
        waiting = self.samples.get(run.key)
        assert not waiting or waiting[-1].final, f"{run.key} ended without a last sample"
        if not told.end and (not waiting or told.samples >= run.intervals):
            self.say(update)
            told.end = True

    def _watch(self, run: NodeRun) -> None:
        """Look again after a while if an answer is due."""
        due = run.phase is Phase.ENDED or run.key in self._unsettled or run.key in self.samples
        if not due:
            self._open.discard(run.key)
            return
        self._open.add(run.key)
        if self.next_ns is None:
            self.next_ns = self._core.now.boot_ns + self._resend_ns

    def usage_acked(self, run: NodeRun, interval: int) -> list[UsageSample]:
        """Samples that are durable at the region: they may go."""
        waiting = self.samples.get(run.key)
        gone: list[UsageSample] = []
        while waiting and waiting[0].interval <= interval:
            gone.append(waiting.popleft())
        if not waiting:
            self.samples.pop(run.key, None)
        return gone

    def settled(self, run: NodeRun, step: int) -> bool:
        """The verdict on a checkpoint came; False if it was not waited for."""
        if run.offer is None or run.offer.step != step or run.key not in self._unsettled:
            return False
        self._unsettled.discard(run.key)
        return True

    def is_unsettled(self, key: RunKey) -> bool:
        """Whether a checkpoint of a run waits for its verdict."""
        return key in self._unsettled

    def forgotten(self, key: RunKey) -> list[UsageSample]:
        """The region needs nothing more of a run."""
        self._told.pop(key, None)
        self._open.discard(key)
        self._unsettled.discard(key)
        return list(self.samples.pop(key, ()))

    def tick(self) -> None:
        """Tell again what was not answered in time."""
        now_ns = self._core.now.boot_ns
        if self.next_ns is None or now_ns < self.next_ns:
            return
        self.next_ns = None
        for key in sorted(self._open):
            run, told = self._core.runs.get(key), self._told.get(key)
            if run is None or told is None:
                self._open.discard(key)
                continue
            self.flush(run, again=told.sent_ns + self._resend_ns <= now_ns)
