import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.type import money_pb2 as _money_pb2
from intertie.api.federation.v1 import states_pb2 as _states_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    KIND_GENERIC: _ClassVar[Kind]
    KIND_TRAINING: _ClassVar[Kind]
    KIND_FINE_TUNING: _ClassVar[Kind]
    KIND_BATCH_INFERENCE: _ClassVar[Kind]
    KIND_SERVICE: _ClassVar[Kind]

class Priority(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRIORITY_UNSPECIFIED: _ClassVar[Priority]
    PRIORITY_GUARANTEED: _ClassVar[Priority]
    PRIORITY_NORMAL: _ClassVar[Priority]
    PRIORITY_OPPORTUNISTIC: _ClassVar[Priority]

class Objective(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OBJECTIVE_UNSPECIFIED: _ClassVar[Objective]
    OBJECTIVE_SUCCESS: _ClassVar[Objective]
    OBJECTIVE_TIME: _ClassVar[Objective]
    OBJECTIVE_COST: _ClassVar[Objective]

class Isolation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ISOLATION_UNSPECIFIED: _ClassVar[Isolation]
    ISOLATION_HW: _ClassVar[Isolation]
    ISOLATION_SOFT: _ClassVar[Isolation]
    ISOLATION_NONE: _ClassVar[Isolation]
KIND_UNSPECIFIED: Kind
KIND_GENERIC: Kind
KIND_TRAINING: Kind
KIND_FINE_TUNING: Kind
KIND_BATCH_INFERENCE: Kind
KIND_SERVICE: Kind
PRIORITY_UNSPECIFIED: Priority
PRIORITY_GUARANTEED: Priority
PRIORITY_NORMAL: Priority
PRIORITY_OPPORTUNISTIC: Priority
OBJECTIVE_UNSPECIFIED: Objective
OBJECTIVE_SUCCESS: Objective
OBJECTIVE_TIME: Objective
OBJECTIVE_COST: Objective
ISOLATION_UNSPECIFIED: Isolation
ISOLATION_HW: Isolation
ISOLATION_SOFT: Isolation
ISOLATION_NONE: Isolation

class TaskSpec(_message.Message):
    __slots__ = ("name", "project", "labels", "array", "kind", "run", "resources", "gang", "requires", "placement", "latency", "data", "model_weights", "checkpoint", "outputs", "residency", "tolerance", "objective", "budget", "estimate", "priority")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ARRAY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    GANG_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    MODEL_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    RESIDENCY_FIELD_NUMBER: _ClassVar[int]
    TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    project: str
    labels: _containers.ScalarMap[str, str]
    array: int
    kind: Kind
    run: RunSpec
    resources: Resources
    gang: Gang
    requires: _containers.RepeatedScalarFieldContainer[str]
    placement: Placement
    latency: Latency
    data: _containers.RepeatedCompositeFieldContainer[DataItem]
    model_weights: _containers.RepeatedCompositeFieldContainer[DataItem]
    checkpoint: CheckpointSpec
    outputs: _containers.RepeatedCompositeFieldContainer[OutputSpec]
    residency: Residency
    tolerance: Tolerance
    objective: Objective
    budget: Budget
    estimate: Estimate
    priority: Priority
    def __init__(self, name: _Optional[str] = ..., project: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., array: _Optional[int] = ..., kind: _Optional[_Union[Kind, str]] = ..., run: _Optional[_Union[RunSpec, _Mapping]] = ..., resources: _Optional[_Union[Resources, _Mapping]] = ..., gang: _Optional[_Union[Gang, _Mapping]] = ..., requires: _Optional[_Iterable[str]] = ..., placement: _Optional[_Union[Placement, _Mapping]] = ..., latency: _Optional[_Union[Latency, _Mapping]] = ..., data: _Optional[_Iterable[_Union[DataItem, _Mapping]]] = ..., model_weights: _Optional[_Iterable[_Union[DataItem, _Mapping]]] = ..., checkpoint: _Optional[_Union[CheckpointSpec, _Mapping]] = ..., outputs: _Optional[_Iterable[_Union[OutputSpec, _Mapping]]] = ..., residency: _Optional[_Union[Residency, _Mapping]] = ..., tolerance: _Optional[_Union[Tolerance, _Mapping]] = ..., objective: _Optional[_Union[Objective, str]] = ..., budget: _Optional[_Union[Budget, _Mapping]] = ..., estimate: _Optional[_Union[Estimate, _Mapping]] = ..., priority: _Optional[_Union[Priority, str]] = ...) -> None: ...

class RunSpec(_message.Message):
    __slots__ = ("command", "shell", "image", "function", "variants", "workdir", "files", "env", "timeout")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    VARIANTS_FIELD_NUMBER: _ClassVar[int]
    WORKDIR_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    command: _containers.RepeatedScalarFieldContainer[str]
    shell: bool
    image: str
    function: str
    variants: _containers.RepeatedCompositeFieldContainer[Variant]
    workdir: str
    files: _containers.RepeatedCompositeFieldContainer[FileRef]
    env: _containers.ScalarMap[str, str]
    timeout: _duration_pb2.Duration
    def __init__(self, command: _Optional[_Iterable[str]] = ..., shell: bool = ..., image: _Optional[str] = ..., function: _Optional[str] = ..., variants: _Optional[_Iterable[_Union[Variant, _Mapping]]] = ..., workdir: _Optional[str] = ..., files: _Optional[_Iterable[_Union[FileRef, _Mapping]]] = ..., env: _Optional[_Mapping[str, str]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class FileRef(_message.Message):
    __slots__ = ("path", "sha256", "size_bytes", "mode")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    path: str
    sha256: str
    size_bytes: int
    mode: int
    def __init__(self, path: _Optional[str] = ..., sha256: _Optional[str] = ..., size_bytes: _Optional[int] = ..., mode: _Optional[int] = ...) -> None: ...

class Variant(_message.Message):
    __slots__ = ("when", "command", "image", "resources")
    WHEN_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    when: VariantCondition
    command: _containers.RepeatedScalarFieldContainer[str]
    image: str
    resources: Resources
    def __init__(self, when: _Optional[_Union[VariantCondition, _Mapping]] = ..., command: _Optional[_Iterable[str]] = ..., image: _Optional[str] = ..., resources: _Optional[_Union[Resources, _Mapping]] = ...) -> None: ...

class VariantCondition(_message.Message):
    __slots__ = ("vendor", "architecture", "software")
    VENDOR_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    vendor: _containers.RepeatedScalarFieldContainer[str]
    architecture: _containers.RepeatedScalarFieldContainer[str]
    software: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, vendor: _Optional[_Iterable[str]] = ..., architecture: _Optional[_Iterable[str]] = ..., software: _Optional[_Iterable[str]] = ...) -> None: ...

class Resources(_message.Message):
    __slots__ = ("cpu_millis", "memory_bytes", "disk_bytes", "shm_bytes", "architecture", "accelerators")
    CPU_MILLIS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHM_BYTES_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    ACCELERATORS_FIELD_NUMBER: _ClassVar[int]
    cpu_millis: int
    memory_bytes: int
    disk_bytes: int
    shm_bytes: int
    architecture: _containers.RepeatedScalarFieldContainer[str]
    accelerators: Accelerators
    def __init__(self, cpu_millis: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., shm_bytes: _Optional[int] = ..., architecture: _Optional[_Iterable[str]] = ..., accelerators: _Optional[_Union[Accelerators, _Mapping]] = ...) -> None: ...

class Accelerators(_message.Message):
    __slots__ = ("count", "memory_bytes", "model", "vendor", "fraction_millis", "isolation")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VENDOR_FIELD_NUMBER: _ClassVar[int]
    FRACTION_MILLIS_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    count: int
    memory_bytes: int
    model: _containers.RepeatedScalarFieldContainer[str]
    vendor: _containers.RepeatedScalarFieldContainer[str]
    fraction_millis: int
    isolation: Isolation
    def __init__(self, count: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., model: _Optional[_Iterable[str]] = ..., vendor: _Optional[_Iterable[str]] = ..., fraction_millis: _Optional[int] = ..., isolation: _Optional[_Union[Isolation, str]] = ...) -> None: ...

class Gang(_message.Message):
    __slots__ = ("nodes", "topology", "rdma")
    NODES_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    RDMA_FIELD_NUMBER: _ClassVar[int]
    nodes: int
    topology: Topology
    rdma: bool
    def __init__(self, nodes: _Optional[int] = ..., topology: _Optional[_Union[Topology, _Mapping]] = ..., rdma: bool = ...) -> None: ...

class Topology(_message.Message):
    __slots__ = ("required", "preferred")
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_FIELD_NUMBER: _ClassVar[int]
    required: str
    preferred: str
    def __init__(self, required: _Optional[str] = ..., preferred: _Optional[str] = ...) -> None: ...

class Placement(_message.Message):
    __slots__ = ("only", "never", "prefer", "spill_after")
    ONLY_FIELD_NUMBER: _ClassVar[int]
    NEVER_FIELD_NUMBER: _ClassVar[int]
    PREFER_FIELD_NUMBER: _ClassVar[int]
    SPILL_AFTER_FIELD_NUMBER: _ClassVar[int]
    only: _containers.RepeatedScalarFieldContainer[str]
    never: _containers.RepeatedScalarFieldContainer[str]
    prefer: _containers.RepeatedScalarFieldContainer[str]
    spill_after: _duration_pb2.Duration
    def __init__(self, only: _Optional[_Iterable[str]] = ..., never: _Optional[_Iterable[str]] = ..., prefer: _Optional[_Iterable[str]] = ..., spill_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Latency(_message.Message):
    __slots__ = ("origin", "max_rtt", "allow_estimated")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    MAX_RTT_FIELD_NUMBER: _ClassVar[int]
    ALLOW_ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    origin: str
    max_rtt: _duration_pb2.Duration
    allow_estimated: bool
    def __init__(self, origin: _Optional[str] = ..., max_rtt: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., allow_estimated: bool = ...) -> None: ...

class DataItem(_message.Message):
    __slots__ = ("name", "uri", "size_bytes", "at", "data_class", "mode", "path")
    NAME_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    DATA_CLASS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    name: str
    uri: str
    size_bytes: int
    at: _containers.RepeatedScalarFieldContainer[str]
    data_class: str
    mode: str
    path: str
    def __init__(self, name: _Optional[str] = ..., uri: _Optional[str] = ..., size_bytes: _Optional[int] = ..., at: _Optional[_Iterable[str]] = ..., data_class: _Optional[str] = ..., mode: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class CheckpointSpec(_message.Message):
    __slots__ = ("uri", "interval", "write_time", "size_bytes")
    URI_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    WRITE_TIME_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    uri: str
    interval: _duration_pb2.Duration
    write_time: _duration_pb2.Duration
    size_bytes: int
    def __init__(self, uri: _Optional[str] = ..., interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., write_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class OutputSpec(_message.Message):
    __slots__ = ("path", "uri")
    PATH_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    path: str
    uri: str
    def __init__(self, path: _Optional[str] = ..., uri: _Optional[str] = ...) -> None: ...

class Residency(_message.Message):
    __slots__ = ("within", "not_within", "data_class", "transfer_basis")
    WITHIN_FIELD_NUMBER: _ClassVar[int]
    NOT_WITHIN_FIELD_NUMBER: _ClassVar[int]
    DATA_CLASS_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_BASIS_FIELD_NUMBER: _ClassVar[int]
    within: _containers.RepeatedScalarFieldContainer[str]
    not_within: _containers.RepeatedScalarFieldContainer[str]
    data_class: str
    transfer_basis: TransferBasis
    def __init__(self, within: _Optional[_Iterable[str]] = ..., not_within: _Optional[_Iterable[str]] = ..., data_class: _Optional[str] = ..., transfer_basis: _Optional[_Union[TransferBasis, _Mapping]] = ...) -> None: ...

class TransferBasis(_message.Message):
    __slots__ = ("basis", "reference", "expires")
    BASIS_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_FIELD_NUMBER: _ClassVar[int]
    basis: str
    reference: str
    expires: str
    def __init__(self, basis: _Optional[str] = ..., reference: _Optional[str] = ..., expires: _Optional[str] = ...) -> None: ...

class Tolerance(_message.Message):
    __slots__ = ("interruptible", "on_disconnect", "move_after", "max_attempts", "deadline")
    INTERRUPTIBLE_FIELD_NUMBER: _ClassVar[int]
    ON_DISCONNECT_FIELD_NUMBER: _ClassVar[int]
    MOVE_AFTER_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    interruptible: bool
    on_disconnect: _states_pb2.OnDisconnect
    move_after: _duration_pb2.Duration
    max_attempts: int
    deadline: _duration_pb2.Duration
    def __init__(self, interruptible: bool = ..., on_disconnect: _Optional[_Union[_states_pb2.OnDisconnect, str]] = ..., move_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_attempts: _Optional[int] = ..., deadline: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Budget(_message.Message):
    __slots__ = ("total", "per_hour")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    PER_HOUR_FIELD_NUMBER: _ClassVar[int]
    total: _money_pb2.Money
    per_hour: _money_pb2.Money
    def __init__(self, total: _Optional[_Union[_money_pb2.Money, _Mapping]] = ..., per_hour: _Optional[_Union[_money_pb2.Money, _Mapping]] = ...) -> None: ...

class Estimate(_message.Message):
    __slots__ = ("duration", "on")
    DURATION_FIELD_NUMBER: _ClassVar[int]
    ON_FIELD_NUMBER: _ClassVar[int]
    duration: _duration_pb2.Duration
    on: str
    def __init__(self, duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., on: _Optional[str] = ...) -> None: ...
