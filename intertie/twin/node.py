"""A node without processes: it starts what it is told to and ends runs when its script says so."""

from dataclasses import dataclass, field

from intertie.model.agentlink import AgentHello, AgentRun, StartRun
from intertie.model.pool import NodeCapability
from intertie.model.states import RunState


@dataclass
class ScriptedNode:
    """A node that starts what it is told to start and ends runs when the test says so."""

    id: str
    incarnation: str = "a1"
    keeper: int = 1
    runs: dict[str, StartRun] = field(default_factory=dict)
    is_up: bool = True
    link: int = 0
    lease_end_ns: int = 0
    sent: list[object] = field(default_factory=list)

    def hello(self) -> AgentHello:
        held = tuple(
            AgentRun(task=o.task, token=o.token, state=RunState.RUNNING) for o in self.runs.values()
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
