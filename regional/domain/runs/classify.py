"""Why a run ended, from what the agent saw (tasks.md, Failure classes).

Evidence in this order: our own stop order; kernel and cgroup; start failures; exit code and
signal. Pure table work, so that each row is one test.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from intertie.model.agentlink import AgentRunUpdate
from intertie.model.states import FailureClass, Outcome
from regional.domain.runs.run import StopOrder

_CRASHES = frozenset({4, 6, 7, 8, 11, 31})
"""SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS: the program's own doing."""

_TEXT: Mapping[str, str] = {
    "ENOENT": "the executable does not exist on the node",
    "ENOEXEC": "the executable has a format that the node cannot run",
    "EACCES": "the executable may not be run",
    "E2BIG": "arguments and environment are too large",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """What an end counts as, whose doing it is, and the words for it."""

    outcome: Outcome
    failure_class: FailureClass | None
    cause: str
    message: str


def classify(update: AgentRunUpdate, stop: StopOrder | None, *, federation_was_away: bool) -> Cause:
    """The meaning of an ENDED update.

    Args:
        update: what the agent saw.
        stop: the region's own order, if there was one.
        federation_was_away: whether the region had no lease of the federation to pass on when the
            run ended.
    """
    seen = update.evidence
    if seen.get("unkillable") and seen.get("lost"):
        return Cause(
            Outcome.FAILED, FailureClass.HARDWARE, "region", "its processes could not be killed"
        )
    if stop is not None and not _succeeded(update):
        return by_order(stop)
    for name, cause in _KERNEL.items():
        if seen.get(name):
            return cause
    if seen.get("deadline"):
        return _by_deadline(federation_was_away)
    if seen.get("residency"):
        return Cause(Outcome.REJECTED, None, "region", seen["residency"])
    errno = seen.get("errno", "")
    if errno:
        text = _TEXT.get(errno, f"it could not be started ({errno})")
        return Cause(Outcome.FAILED, FailureClass.USER, "task", text)
    if seen.get("staging"):
        return Cause(Outcome.FAILED, FailureClass.ENVIRONMENT, "region", seen["staging"])
    if seen.get("output"):
        return Cause(Outcome.FAILED, FailureClass.USER, "task", seen["output"])
    return _by_status(update)


def by_order(stop: StopOrder) -> Cause:
    """The end that an order of ours asked for."""
    failure = FailureClass.TIME_LIMIT if stop.outcome is Outcome.TIMED_OUT else None
    return Cause(stop.outcome, failure, stop.cause, stop.reason)


_KERNEL: Mapping[str, Cause] = {
    "lost": Cause(Outcome.LOST, None, "region", "the node lost it"),
    "superseded": Cause(Outcome.SUPERSEDED, None, "federation", "a newer run replaced it"),
    "oom": Cause(
        Outcome.FAILED, FailureClass.OOM_HOST, "task", "it needed more memory than it asked for"
    ),
    "timeout": Cause(Outcome.TIMED_OUT, FailureClass.TIME_LIMIT, "task", "it ran into its timeout"),
    "disk": Cause(Outcome.FAILED, FailureClass.IO, "task", "it filled its disk quota"),
}


def _by_deadline(federation_was_away: bool) -> Cause:
    """A lease that ended: the federation's doing only if the region itself had none any longer."""
    if federation_was_away:
        text = "its lease was over before the federation answered the region again"
        return Cause(Outcome.LOST, None, "federation", text)
    text = "its lease was over before the region answered again"
    return Cause(Outcome.LOST, None, "region", text)


def _succeeded(update: AgentRunUpdate) -> bool:
    """Whether it exited with 0 by itself, even if it was being stopped."""
    return update.exit_code == 0 and not update.signal and not update.evidence.get("stopped")


def _by_status(update: AgentRunUpdate) -> Cause:
    if update.exit_code == 0:
        return Cause(Outcome.SUCCEEDED, None, "task", "")
    if update.exit_code is not None:
        text = f"it exited with code {update.exit_code}"
        return Cause(Outcome.FAILED, FailureClass.USER, "task", text)
    blame = FailureClass.USER if update.signal in _CRASHES else FailureClass.UNKNOWN
    return Cause(Outcome.FAILED, blame, "task", f"signal {update.signal} ended it")
