"""What the table is told (events) and what it asks for (effects): values only.

`key` names one run under one token. `tag` stands for whoever waits for the reply; the table only
hands it back.
"""

from typing import NamedTuple

from edge_agent.keeper.protocol import Body, ProtocolFault
from edge_agent.keeper.report import StartFault, Usage
from edge_agent.keeper.spec import Limits, StartSpec, StopOrder, Token


class Key(NamedTuple):
    """One run under one token."""

    run: str
    token: Token


class Admission(NamedTuple):
    """What the table keeps of a StartSpec: all but argv and environment, which may be large and
    secret.
    """

    key: Key
    mark: str
    """Random name of this start: of its journal file, its cgroup and its environment marker."""
    grace_ms: int
    limits: Limits
    timeout_ms: int | None
    deadline_boot_ns: int | None

    @classmethod
    def of(cls, spec: StartSpec, mark: str) -> "Admission":
        """The admission of a spec."""
        return cls(
            Key(spec.run, spec.token),
            mark,
            spec.grace_ms,
            spec.limits,
            spec.timeout_ms,
            spec.deadline_boot_ns,
        )


class Start(NamedTuple):
    """Link asks to start a run."""

    admission: Admission
    tag: int


class Extend(NamedTuple):
    """Link moves deadlines: of the named runs, or of all that have one."""

    deadline_boot_ns: int
    boot_id: str
    runs: frozenset[str] | None
    tag: int


class Stop(NamedTuple):
    """Link stops a run."""

    order: StopOrder
    tag: int


class Forget(NamedTuple):
    """Link has the end of a run in safe hands: drop it."""

    key: Key
    tag: int


class Shutdown(NamedTuple):
    """Stop everything, accept nothing new."""


class Spawned(NamedTuple):
    """The process exists (it may not have executed the program yet)."""

    key: Key
    pid: int
    pid_ticks: int
    """Its start time as /proc shows it: with the pid it names one process for ever."""


class SpawnFailed(NamedTuple):
    """There never was a process."""

    key: Key
    fault: StartFault


class Executed(NamedTuple):
    """The program runs."""

    key: Key


class ExecFailed(NamedTuple):
    """The process could not become the program; its exit follows."""

    key: Key
    fault: StartFault


class Exited(NamedTuple):
    """The first process of the run was reaped."""

    key: Key
    code: int | None
    signal: int | None
    cpu_ns: int
    max_rss_bytes: int


class Final(NamedTuple):
    """What is known once nothing of a run is left."""

    usage: Usage
    stdout_bytes: int
    stderr_bytes: int


class Swept(NamedTuple):
    """One round of killing is over: `left` processes were seen; `final` once there are none."""

    key: Key
    left: int
    leftovers: int
    """Of those seen, how many were not the first process."""
    final: Final | None


class DiskUsed(NamedTuple):
    """A measurement of the run's directory."""

    key: Key
    used_bytes: int


class Tick(NamedTuple):
    """Look at the clock."""


Event = (
    Start
    | Extend
    | Stop
    | Forget
    | Shutdown
    | Spawned
    | SpawnFailed
    | Executed
    | ExecFailed
    | Exited
    | Swept
    | DiskUsed
    | Tick
)


class Save(NamedTuple):
    """Put the run's record on disk."""

    key: Key
    durable: bool
    """Whether it must be on disk, safe from a power cut, before anything below is released; else
    it may follow a little later."""


class Drop(NamedTuple):
    """Remove the record, keep the fence."""

    key: Key
    mark: str


class Notice(NamedTuple):
    """Tell the task that it will be stopped. Not held back by a commit, like all that kills."""

    key: Key
    by: str
    reason: str
    term_boot_ns: int
    kill_boot_ns: int


class Terminate(NamedTuple):
    """SIGTERM to the run's process group."""

    key: Key


class Sweep(NamedTuple):
    """SIGKILL everything of the run and count; answered by Swept."""

    key: Key


class Spawn(NamedTuple):
    """Start the process; answered by Spawned or SpawnFailed."""

    key: Key


class Release(NamedTuple):
    """The run has ended: its cgroup and pipes are of no more use."""

    key: Key
    mark: str


class Note(NamedTuple):
    """Tell every link."""

    note: str
    key: Key


class Reply(NamedTuple):
    """Answer a request."""

    tag: int
    result: Body


class Refuse(NamedTuple):
    """Refuse a request."""

    tag: int
    fault: ProtocolFault


Effect = Save | Drop | Notice | Terminate | Sweep | Spawn | Release | Note | Reply | Refuse
URGENT = (Notice, Terminate, Sweep, Release)
"""Done at once: killing must never wait for a disk."""
