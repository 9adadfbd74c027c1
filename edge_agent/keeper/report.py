"""What the keeper says of a run: its state, how it ended, and the evidence of why.

The same values go to link (replies, notifications) and to disk (`disk/journal.py`). Evidence is
facts only; making an outcome and a failure class of it is the region's work (`intertie.failure`).
"""

from typing import Final, NamedTuple

from edge_agent.keeper.protocol import Body
from edge_agent.keeper.spec import Token

STARTING: Final = "STARTING"
RUNNING: Final = "RUNNING"
STOPPING: Final = "STOPPING"
ENDED: Final = "ENDED"

BY_SELF: Final = "SELF"
BY_STOP: Final = "STOP"
BY_TIMEOUT: Final = "TIMEOUT"
BY_DEADLINE: Final = "DEADLINE"
BY_DISK: Final = "DISK"
BY_SUPERSEDED: Final = "SUPERSEDED"
BY_SHUTDOWN: Final = "SHUTDOWN"
BY_START_FAILURE: Final = "START_FAILURE"
BY_LOST: Final = "LOST"


class StartFault(NamedTuple):
    """Why a process could not be started: the step that failed and the errno's name (`ENOENT`)."""

    stage: str
    errno: str
    message: str


class Usage(NamedTuple):
    """What a run has used so far. None where the machine offers no count."""

    cpu_ns: int | None = None
    memory_bytes: int | None = None
    memory_peak_bytes: int | None = None
    pids: int | None = None
    disk_bytes: int | None = None
    oom_kills: int | None = None


class Ended(NamedTuple):
    """How a run ended. Exactly one of code, signal, start_fault is set, or none when it is LOST."""

    by: str
    """Who ended it: the first cause, not the last."""
    boot_ns: int
    reason: str = ""
    """The words of whoever ordered the stop."""
    code: int | None = None
    signal: int | None = None
    start_fault: StartFault | None = None
    oom: str | None = None
    """`kernel`: the cgroup's OOM killer took processes of this run. `rlimit`: it failed with its
    resident set near its address-space limit (a guess, and marked so)."""
    oom_kills: int = 0
    unkillable: bool = False
    """Death could not be verified within T_kill; it was later, at `boot_ns`."""
    leftovers: int = 0
    """Processes that had to be killed after the first one had exited."""
    cpu_ns: int | None = None
    max_rss_bytes: int | None = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0

    def to_body(self) -> Body:
        """As JSON."""
        fault = self.start_fault._asdict() if self.start_fault else None
        return {**self._asdict(), "start_fault": fault}

    @classmethod
    def from_body(cls, body: Body) -> "Ended":
        """From JSON; unknown keys of a newer keeper are ignored."""
        known = {name: body[name] for name in cls._fields if name in body}
        if known.get("start_fault"):
            known["start_fault"] = StartFault(**known["start_fault"])
        return cls(**known)


class RunView(NamedTuple):
    """One run as link sees it."""

    run: str
    token: Token
    state: str
    pid: int | None
    boot_id: str
    accepted_boot_ns: int
    started_boot_ns: int | None
    deadline_boot_ns: int | None
    stopping: str | None
    """Who stops it, while it is STOPPING."""
    unkillable: bool
    ended: Ended | None

    def to_body(self) -> Body:
        """As JSON."""
        return {
            **self._asdict(),
            "token": list(self.token),
            "ended": self.ended.to_body() if self.ended else None,
        }

    @classmethod
    def from_body(cls, body: Body) -> "RunView":
        """From JSON; unknown keys of a newer keeper are ignored."""
        known = {name: body[name] for name in cls._fields}
        known["token"] = Token(*body["token"])
        known["ended"] = Ended.from_body(body["ended"]) if body["ended"] else None
        return cls(**known)
