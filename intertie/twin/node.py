"""A node without processes: it starts what it is told to and ends runs when its script says so."""

from dataclasses import dataclass, field

from intertie.model.agentlink import AgentHello, AgentRun, StartRun
from intertie.model.pool import NodeCapability
from intertie.model.states import RunState
from intertie.model.token import Token


@dataclass
class ScriptedNode:
    """A node that starts what it is told to start and ends runs when the test says so.

    `is_mute`: what it says is lost. `cannot_kill`: a stop leaves the process alive, and it says so.
    `stop_takes_ms`: how long a run takes to save its work, at most the notice that it gets.
    `processes` are all that it ever started; `stopping` is when each run that saves its work ends.
    """

    id: str
    incarnation: str = "a1"
    keeper: int = 1
    runs: dict[str, StartRun] = field(default_factory=dict)
    is_up: bool = True
    link: int = 0
    lease_end_ns: int = 0
    sent: list[object] = field(default_factory=list)
    is_mute: bool = False
    cannot_kill: bool = False
    stop_takes_ms: int = 0
    fence: dict[str, Token] = field(default_factory=dict)
    processes: list[tuple[str, Token]] = field(default_factory=list)
    started_ns: dict[str, int] = field(default_factory=dict)
    stopping: dict[str, int] = field(default_factory=dict)

    def begin(self, order: StartRun, now_ns: int) -> bool:
        """Start a process, as the keeper does: once for a token, and never for an older one."""
        fence = self.fence.get(order.task)
        if fence is not None and order.token <= fence:
            return False
        self.fence[order.task] = order.token
        self.runs[order.task] = order
        self.started_ns[order.task] = now_ns
        self.processes.append((order.task, order.token))
        return True

    def hello(self, *, lists_runs: bool = True) -> AgentHello:
        """What it says as it attaches; a hello made before a start came does not list its run."""
        held = tuple(
            AgentRun(task=o.task, token=o.token, state=RunState.RUNNING)
            for o in self.runs.values()
            if lists_runs
        )
        return AgentHello(
            node=self.id,
            incarnation=self.incarnation,
            boot_id="b",
            site="CN/CN-JS/park",
            software="1",
            protocol_min=1,
            protocol_max=1,
            capability=NodeCapability(
                cpu=2000, memory=4 << 30, disk=10 << 30, architecture="x86_64"
            ),
            runs=held,
            keeper_incarnation=f"k{self.keeper}",
        )
