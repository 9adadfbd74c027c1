"""The record of one run: everything that the table decides on and the journal keeps.

    STARTING --program runs--> RUNNING --stop, timeout, deadline, disk--> STOPPING --> ENDED
        |                         |                                          ^
        |                         +------------- first process exits --------+
        +--- stop, exec failure -----------------------------------------> STOPPING
        +--- never had a process -----------------------------------------------> ENDED

STOPPING lasts until the first process is reaped *and* a sweep has found nothing of the run alive:
only then is an end reported, so an end is always a verified death. A first process that exits
while children of it live is in STOPPING too; what it left behind is killed.
"""

from typing import Any, Final, NamedTuple

from edge_agent.keeper.domain.events import Admission, Key
from edge_agent.keeper.report import (
    ENDED,
    RUNNING,
    STARTING,
    STOPPING,
    Ended,
    RunView,
    StartFault,
)
from edge_agent.keeper.spec import Limits, Token

MS: Final = 1_000_000

NEXT: Final[dict[str, tuple[str, ...]]] = {
    STARTING: (RUNNING, STOPPING, ENDED),
    RUNNING: (STOPPING,),
    STOPPING: (ENDED,),
    ENDED: (),
}


class Exit(NamedTuple):
    """How the first process of a run ended, from wait4."""

    code: int | None
    signal: int | None
    cpu_ns: int
    max_rss_bytes: int


class Run(NamedTuple):
    """One run. Instants are boot-clock nanoseconds."""

    admission: Admission
    accepted_at: int
    state: str = STARTING
    waiting: bool = False
    """An older run of the task must be dead first."""
    deadline_at: int | None = None
    lease_over: bool = False
    """Whether its deadline has come and the stop for it is under way."""
    timeout_at: int | None = None
    pid: int | None = None
    pid_ticks: int = 0
    started_at: int | None = None
    start_fault: StartFault | None = None
    exit: Exit | None = None
    by: str | None = None
    reason: str = ""
    term_at: int | None = None
    kill_at: int | None = None
    killing_since: int | None = None
    sweep_at: int | None = None
    sweeps: int = 0
    leftovers: int = 0
    unkillable: bool = False
    ended: Ended | None = None

    @property
    def key(self) -> Key:
        """Its run and token."""
        return self.admission.key

    @property
    def mark(self) -> str:
        """Its random name."""
        return self.admission.mark

    @property
    def live(self) -> bool:
        """Whether it may have processes, now or later."""
        return self.state != ENDED

    @property
    def holds(self) -> bool:
        """Whether it may have processes now."""
        return self.live and not self.waiting

    def moved(self, state: str, **changes: Any) -> "Run":  # noqa: ANN401 - fields of this class
        """The run in another state; a move that the table above lacks is our bug."""
        assert state in NEXT[self.state], f"{self.key}: {self.state} -> {state}"
        return self._replace(state=state, **changes)

    @property
    def next_deadline(self) -> int | None:
        """Its deadline, unless that has done its work or the run is being killed anyway."""
        return None if self.lease_over or self.killing_since is not None else self.deadline_at

    def overdue(self, now: int) -> bool:
        """Whether its deadline has passed and nothing was done about it yet."""
        return self.next_deadline is not None and self.next_deadline <= now

    def lease_kill_at(self, t_kill_ns: int) -> int:
        """When a run whose lease ends is killed: T_kill has to do for its grace and for the proof
        of its death, so the grace has half of it at most, whatever the task asked for.
        """
        assert self.deadline_at is not None
        return self.deadline_at + min(self.admission.grace_ms * MS, t_kill_ns // 2)

    def proof_due_at(self, t_kill_ns: int) -> int | None:
        """When its death must have been verified; None while nobody kills it."""
        if self.killing_since is None:
            return None
        bound = self.killing_since + t_kill_ns
        if self.lease_over and self.deadline_at is not None:
            return min(bound, max(self.deadline_at + t_kill_ns, self.killing_since))
        return bound

    def due_at(self, t_kill_ns: int) -> int | None:
        """When the clock next matters to this run."""
        if self.state == ENDED:
            return None
        instants = [self.next_deadline]
        if self.state == STOPPING:
            instants += [self.term_at, self.kill_at, self.sweep_at]
            if not self.unkillable:
                instants.append(self.proof_due_at(t_kill_ns))
        else:
            instants.append(self.timeout_at)
        return min((instant for instant in instants if instant is not None), default=None)

    def view(self, boot_id: str) -> RunView:
        """What link may know."""
        return RunView(
            run=self.key.run,
            token=self.key.token,
            state=self.state,
            pid=self.pid,
            boot_id=boot_id,
            accepted_boot_ns=self.accepted_at,
            started_boot_ns=self.started_at,
            deadline_boot_ns=self.deadline_at,
            stopping=self.by if self.state == STOPPING else None,
            unkillable=self.unkillable,
            ended=self.ended,
        )

    def to_body(self) -> dict[str, Any]:
        """What the journal keeps: what a later keeper needs to clean up and to report."""
        admission = self.admission
        return {
            "run": self.key.run,
            "token": list(self.key.token),
            "mark": self.mark,
            "grace_ms": admission.grace_ms,
            "limits": admission.limits._asdict(),
            "timeout_ms": admission.timeout_ms,
            "deadline_at": self.deadline_at,
            "accepted_at": self.accepted_at,
            "state": self.state,
            "pid": self.pid,
            "pid_ticks": self.pid_ticks,
            "started_at": self.started_at,
            "by": self.by,
            "ended": self.ended.to_body() if self.ended else None,
        }

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> "Run":
        """Read back by a later keeper. Raises KeyError, TypeError or ValueError on a bad record."""
        admission = Admission(
            key=Key(str(body["run"]), Token(*body["token"])),
            mark=str(body["mark"]),
            grace_ms=int(body["grace_ms"]),
            limits=Limits(**body["limits"]),
            timeout_ms=body["timeout_ms"],
            deadline_boot_ns=body["deadline_at"],
        )
        if body["state"] not in NEXT:
            raise ValueError(f"unknown state {body['state']!r}")
        return cls(
            admission=admission,
            accepted_at=int(body["accepted_at"]),
            state=body["state"],
            deadline_at=body["deadline_at"],
            pid=body["pid"],
            pid_ticks=int(body["pid_ticks"]),
            started_at=body["started_at"],
            by=body["by"],
            ended=Ended.from_body(body["ended"]) if body["ended"] else None,
        )
