"""The task spec: what a person asks for (tasks.md).

One model for the YAML file, the Python SDK and the protobuf message. Numbers are integers in the
unit that the field's name or marker says; people write `512MiB` and `5m`, `intertie.sdk` parses
them. Fields that this version does not serve yet exist, so that their place is fixed;
`intertie.model.validate` refuses them by name, it never ignores them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from intertie.model.money import Money
from intertie.model.states import OnDisconnect


class Unit(StrEnum):
    """How a person writes a number: `2GiB` (bytes), `5m` (milliseconds), `1.5` (thousandths)."""

    BYTES = "bytes"
    MILLIS = "milliseconds"
    MILLI = "thousandths"


Bytes = Annotated[int, Unit.BYTES]
Millis = Annotated[int, Unit.MILLIS]
Milli = Annotated[int, Unit.MILLI]


class Kind(StrEnum):
    """Kind of task: sets defaults, nothing else."""

    GENERIC = "generic"
    TRAINING = "training"
    FINE_TUNING = "fine_tuning"
    BATCH_INFERENCE = "batch_inference"
    SERVICE = "service"


class Priority(StrEnum):
    """Priority class."""

    GUARANTEED = "guaranteed"
    NORMAL = "normal"
    OPPORTUNISTIC = "opportunistic"


class Objective(StrEnum):
    """What the router prefers among regions that all may and can."""

    SUCCESS = "success"
    TIME = "time"
    COST = "cost"


class Isolation(StrEnum):
    """Floor of isolation between tasks on a device."""

    HW = "hw"
    SOFT = "soft"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """A file or folder of the task: a path below the work directory and the blob that fills it."""

    path: str
    sha256: str = ""
    size: Bytes = 0
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """When a variant applies: all given conditions must hold on the node."""

    vendor: tuple[str, ...] = ()
    architecture: tuple[str, ...] = ()
    software: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerators:
    """Accelerators per node."""

    count: int = 0
    memory: Bytes = 0
    model: tuple[str, ...] = ()
    vendor: tuple[str, ...] = ()
    fraction: Milli = 0
    isolation: Isolation = Isolation.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Resources per node. `cpu` in thousandths of a core."""

    cpu: Milli = 1000
    memory: Bytes = 512 << 20
    disk: Bytes = 1 << 30
    shm: Bytes = 0
    architecture: tuple[str, ...] = ()
    accelerators: Accelerators = Accelerators()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What differs on a kind of hardware."""

    when: When
    command: tuple[str, ...] = ()
    image: str = ""
    resources: Resources | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """What is run. `command` is argv; with `shell` it has one string for `/bin/sh -c`.

    `workdir` is the folder that the client packs; after packing it is empty and `files` holds the
    digests. `function` is the digest of a pickled call, made by the SDK only.
    """

    command: tuple[str, ...] = ()
    shell: bool = False
    image: str = ""
    function: str = ""
    variants: tuple[Variant, ...] = ()
    workdir: str = ""
    files: tuple[FileRef, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: Millis = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Where the ranks of a gang must or should be near each other."""

    required: str = ""
    preferred: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """Several nodes, all or nothing."""

    nodes: int = 1
    topology: Topology = Topology()
    rdma: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Wishes and bounds on where: regions, operators or zones."""

    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    spill_after: Millis = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Bound on the measured p95 round trip from `origin` (a region or `lat,lon`)."""

    origin: str = ""
    max_rtt: Millis = 0
    allow_estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DataItem:
    """An input: what it is called, where it is, what class of data it is."""

    name: str
    uri: str = ""
    size: Bytes = 0
    at: tuple[str, ...] = ()
    data_class: str = ""
    mode: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSpec:
    """How the task saves its state: `interval` and `write_time` in ms, `size` in bytes."""

    uri: str = ""
    interval: Millis = 0
    write_time: Millis = 0
    size: Bytes = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSpec:
    """A result: `path` below the output directory, kept by the region."""

    path: str = ""
    uri: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferBasis:
    """The legal basis on which data may be moved."""

    basis: str = ""
    reference: str = ""
    expires: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """Where the task and its data may be: zones or jurisdiction paths."""

    within: tuple[str, ...] = ()
    not_within: tuple[str, ...] = ()
    data_class: str = ""
    transfer_basis: TransferBasis = TransferBasis()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """What the task can bear. `deadline` is a duration from submission."""

    interruptible: bool = False
    on_disconnect: OnDisconnect = OnDisconnect.STAY
    move_after: Millis = 600_000
    max_attempts: int = 3
    deadline: Millis = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A bound on cost."""

    total: Money | None = None
    per_hour: Money | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How long the work takes, and on which device model that was seen."""

    duration: Millis = 0
    on: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """What a person asks for. See the module's text and tasks.md for each field."""

    name: str = ""
    project: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    array: int = 0
    kind: Kind = Kind.GENERIC
    run: RunSpec
    resources: Resources = Resources()
    gang: Gang | None = None
    requires: tuple[str, ...] = ()
    placement: Placement = Placement()
    latency: Latency | None = None
    data: tuple[DataItem, ...] = ()
    model_weights: tuple[DataItem, ...] = ()
    checkpoint: CheckpointSpec | None = None
    outputs: tuple[OutputSpec, ...] = ()
    residency: Residency = Residency()
    tolerance: Tolerance = Tolerance()
    objective: Objective = Objective.SUCCESS
    budget: Budget | None = None
    estimate: Estimate | None = None
    priority: Priority = Priority.NORMAL
