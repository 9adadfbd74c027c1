"""Resources that only clients see as values: regions, nodes and runs of a pool, outputs.

Tasks, runs and plans are in `intertie.model`. Instants are UTC milliseconds, 0 = not known; sizes
are bytes, `cpu` thousandths of a core.
"""

from dataclasses import dataclass

from intertie.api.federation.v1 import region_service_pb2, task_service_pb2
from intertie.api.regional.v1 import lending_pb2, pool_service_pb2
from intertie.errors import IntertieError
from intertie.model.lending import Lending, Quantity, Reclaim
from intertie.model.pool import NodeCapability, Summary
from intertie.model.states import Outcome, Reachability, RegionState, RunState
from intertie.model.task import CheckpointRef, StoredFile, Task, TaskEvent
from intertie.model.token import Token
from intertie.wire.mapping import mapper


@dataclass(frozen=True, slots=True, kw_only=True)
class Rtt:
    """Round trips from one region to another, as the first measured them. Microseconds."""

    origin: str
    region: str
    measured: bool = False
    p50_us: int = 0
    p95_us: int = 0
    samples: int = 0
    lost: int = 0
    age_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A region as the federation sees it. `summary` is None before it has told one."""

    name: str
    state: RegionState
    reachability: Reachability
    jurisdiction: str = ""
    seen_ms: int = 0
    software: str = ""
    summary: Summary | None = None
    assigned_runs: int = 0
    state_reason: str = ""
    state_actor: str = ""

    @property
    def id(self) -> str:
        """The id without the collection."""
        return self.name.removeprefix("regions/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node as its region sees it."""

    name: str
    reachability: Reachability
    seen_ms: int = 0
    capability: NodeCapability | None = None
    free_cpu: int = 0
    free_memory: int = 0
    free_disk: int = 0
    free_devices: int = 0
    runs: int = 0
    unfenced_runs: int = 0
    incarnation: str = ""

    @property
    def id(self) -> str:
        """The id without the collection."""
        return self.name.removeprefix("nodes/")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRun:
    """A run as its region has it, native or a guest's."""

    task: str
    token: Token
    state: RunState
    outcome: Outcome | None = None
    native: bool = False
    node: str = ""
    queued_ms: int = 0
    started_ms: int = 0
    ended_ms: int = 0
    exit_code: int | None = None
    message: str = ""
    checkpoint: CheckpointRef | None = None
    outputs: tuple[StoredFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutput:
    """A result of a task and the number of the run that made it."""

    path: str
    sha256: str
    size: int
    run: int


@dataclass(frozen=True, slots=True)
class Created:
    """What became of one item of a batch: the full name of a task, or why there is none."""

    task: str = ""
    error: IntertieError | None = None


@dataclass(frozen=True, slots=True)
class WatchBatch:
    """Some changes, the present states of the tasks that changed, and where to go on."""

    events: tuple[TaskEvent, ...]
    tasks: tuple[Task, ...]
    resume_token: str


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Bytes of a log as the task wrote them, from the absolute `offset` of run `run` on."""

    run: int
    stream: str
    offset: int
    data: bytes


REGION = mapper(Region, region_service_pb2.Region)
RTT = mapper(Rtt, region_service_pb2.Rtt)
NODE = mapper(Node, pool_service_pb2.Node)
POOL_RUN = mapper(PoolRun, pool_service_pb2.PoolRun)
LENDING = mapper(Lending, lending_pb2.Lending)
QUANTITY = mapper(Quantity, lending_pb2.Quantity)
RECLAIM = mapper(Reclaim, lending_pb2.Reclaim)
TASK_OUTPUT = mapper(TaskOutput, task_service_pb2.TaskOutput)
