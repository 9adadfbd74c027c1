import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Device(_message.Message):
    __slots__ = ("index", "uuid", "vendor", "model", "architecture", "memory_bytes", "numa", "healthy", "link")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    UUID_FIELD_NUMBER: _ClassVar[int]
    VENDOR_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    NUMA_FIELD_NUMBER: _ClassVar[int]
    HEALTHY_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    index: int
    uuid: str
    vendor: str
    model: str
    architecture: str
    memory_bytes: int
    numa: int
    healthy: bool
    link: str
    def __init__(self, index: _Optional[int] = ..., uuid: _Optional[str] = ..., vendor: _Optional[str] = ..., model: _Optional[str] = ..., architecture: _Optional[str] = ..., memory_bytes: _Optional[int] = ..., numa: _Optional[int] = ..., healthy: bool = ..., link: _Optional[str] = ...) -> None: ...

class NodeCapability(_message.Message):
    __slots__ = ("cpu_millis", "memory_bytes", "disk_bytes", "architecture", "devices", "software", "numa_nodes", "kernel", "hostname", "isolation", "found", "deployment")
    class SoftwareEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class FoundEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CPU_MILLIS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    NUMA_NODES_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    DEPLOYMENT_FIELD_NUMBER: _ClassVar[int]
    cpu_millis: int
    memory_bytes: int
    disk_bytes: int
    architecture: str
    devices: _containers.RepeatedCompositeFieldContainer[Device]
    software: _containers.ScalarMap[str, str]
    numa_nodes: int
    kernel: str
    hostname: str
    isolation: str
    found: _containers.ScalarMap[str, str]
    deployment: str
    def __init__(self, cpu_millis: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., architecture: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[Device, _Mapping]]] = ..., software: _Optional[_Mapping[str, str]] = ..., numa_nodes: _Optional[int] = ..., kernel: _Optional[str] = ..., hostname: _Optional[str] = ..., isolation: _Optional[str] = ..., found: _Optional[_Mapping[str, str]] = ..., deployment: _Optional[str] = ...) -> None: ...

class Shape(_message.Message):
    __slots__ = ("cpu_millis", "memory_bytes", "disk_bytes", "devices", "device_memory_bytes", "device_models", "device_vendors", "architectures", "software", "requires")
    CPU_MILLIS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    DEVICE_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEVICE_MODELS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_VENDORS_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURES_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_FIELD_NUMBER: _ClassVar[int]
    cpu_millis: int
    memory_bytes: int
    disk_bytes: int
    devices: int
    device_memory_bytes: int
    device_models: _containers.RepeatedScalarFieldContainer[str]
    device_vendors: _containers.RepeatedScalarFieldContainer[str]
    architectures: _containers.RepeatedScalarFieldContainer[str]
    software: _containers.RepeatedScalarFieldContainer[str]
    requires: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cpu_millis: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., devices: _Optional[int] = ..., device_memory_bytes: _Optional[int] = ..., device_models: _Optional[_Iterable[str]] = ..., device_vendors: _Optional[_Iterable[str]] = ..., architectures: _Optional[_Iterable[str]] = ..., software: _Optional[_Iterable[str]] = ..., requires: _Optional[_Iterable[str]] = ...) -> None: ...

class NodeClass(_message.Message):
    __slots__ = ("architecture", "vendor", "model", "nodes", "max_cpu_millis", "max_memory_bytes", "max_disk_bytes", "max_devices", "device_memory_bytes", "free_cpu_millis", "free_memory_bytes", "free_blocks", "software", "tags", "declared")
    class FreeBlocksEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    class SoftwareEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class TagsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    VENDOR_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    MAX_CPU_MILLIS_FIELD_NUMBER: _ClassVar[int]
    MAX_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_DEVICES_FIELD_NUMBER: _ClassVar[int]
    DEVICE_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREE_CPU_MILLIS_FIELD_NUMBER: _ClassVar[int]
    FREE_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREE_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    DECLARED_FIELD_NUMBER: _ClassVar[int]
    architecture: str
    vendor: str
    model: str
    nodes: int
    max_cpu_millis: int
    max_memory_bytes: int
    max_disk_bytes: int
    max_devices: int
    device_memory_bytes: int
    free_cpu_millis: int
    free_memory_bytes: int
    free_blocks: _containers.ScalarMap[int, int]
    software: _containers.ScalarMap[str, str]
    tags: _containers.ScalarMap[str, str]
    declared: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, architecture: _Optional[str] = ..., vendor: _Optional[str] = ..., model: _Optional[str] = ..., nodes: _Optional[int] = ..., max_cpu_millis: _Optional[int] = ..., max_memory_bytes: _Optional[int] = ..., max_disk_bytes: _Optional[int] = ..., max_devices: _Optional[int] = ..., device_memory_bytes: _Optional[int] = ..., free_cpu_millis: _Optional[int] = ..., free_memory_bytes: _Optional[int] = ..., free_blocks: _Optional[_Mapping[int, int]] = ..., software: _Optional[_Mapping[str, str]] = ..., tags: _Optional[_Mapping[str, str]] = ..., declared: _Optional[_Iterable[str]] = ...) -> None: ...

class Summary(_message.Message):
    __slots__ = ("region", "incarnation", "revision", "jurisdiction", "classes", "queued", "running", "health", "accepting", "policy_sha256", "lending")
    REGION_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    JURISDICTION_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    ACCEPTING_FIELD_NUMBER: _ClassVar[int]
    POLICY_SHA256_FIELD_NUMBER: _ClassVar[int]
    LENDING_FIELD_NUMBER: _ClassVar[int]
    region: str
    incarnation: str
    revision: int
    jurisdiction: str
    classes: _containers.RepeatedCompositeFieldContainer[NodeClass]
    queued: int
    running: int
    health: float
    accepting: bool
    policy_sha256: str
    lending: LendingTerms
    def __init__(self, region: _Optional[str] = ..., incarnation: _Optional[str] = ..., revision: _Optional[int] = ..., jurisdiction: _Optional[str] = ..., classes: _Optional[_Iterable[_Union[NodeClass, _Mapping]]] = ..., queued: _Optional[int] = ..., running: _Optional[int] = ..., health: _Optional[float] = ..., accepting: bool = ..., policy_sha256: _Optional[str] = ..., lending: _Optional[_Union[LendingTerms, _Mapping]] = ...) -> None: ...

class LendingTerms(_message.Message):
    __slots__ = ("open", "projects", "kinds", "data_classes", "models", "longest_run", "closes_in", "left_cpu_millis", "left_memory_bytes", "left_devices")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    PROJECTS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    DATA_CLASSES_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    LONGEST_RUN_FIELD_NUMBER: _ClassVar[int]
    CLOSES_IN_FIELD_NUMBER: _ClassVar[int]
    LEFT_CPU_MILLIS_FIELD_NUMBER: _ClassVar[int]
    LEFT_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    LEFT_DEVICES_FIELD_NUMBER: _ClassVar[int]
    open: bool
    projects: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    data_classes: _containers.RepeatedScalarFieldContainer[str]
    models: _containers.RepeatedScalarFieldContainer[str]
    longest_run: _duration_pb2.Duration
    closes_in: _duration_pb2.Duration
    left_cpu_millis: int
    left_memory_bytes: int
    left_devices: int
    def __init__(self, open: bool = ..., projects: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ..., data_classes: _Optional[_Iterable[str]] = ..., models: _Optional[_Iterable[str]] = ..., longest_run: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., closes_in: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., left_cpu_millis: _Optional[int] = ..., left_memory_bytes: _Optional[int] = ..., left_devices: _Optional[int] = ...) -> None: ...
