from intertie.api.federation.v1 import files_pb2 as _files_pb2
from intertie.api.federation.v1 import pool_pb2 as _pool_pb2
from intertie.api.federation.v1 import states_pb2 as _states_pb2
from intertie.api.federation.v1 import token_pb2 as _token_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentMessage(_message.Message):
    __slots__ = ("hello", "beat", "run_update", "usage_sample", "checkpoint_offer", "byte_chunk")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    BEAT_FIELD_NUMBER: _ClassVar[int]
    RUN_UPDATE_FIELD_NUMBER: _ClassVar[int]
    USAGE_SAMPLE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_OFFER_FIELD_NUMBER: _ClassVar[int]
    BYTE_CHUNK_FIELD_NUMBER: _ClassVar[int]
    hello: AgentHello
    beat: Beat
    run_update: AgentRunUpdate
    usage_sample: UsageSample
    checkpoint_offer: CheckpointOffer
    byte_chunk: AgentByteChunk
    def __init__(self, hello: _Optional[_Union[AgentHello, _Mapping]] = ..., beat: _Optional[_Union[Beat, _Mapping]] = ..., run_update: _Optional[_Union[AgentRunUpdate, _Mapping]] = ..., usage_sample: _Optional[_Union[UsageSample, _Mapping]] = ..., checkpoint_offer: _Optional[_Union[CheckpointOffer, _Mapping]] = ..., byte_chunk: _Optional[_Union[AgentByteChunk, _Mapping]] = ...) -> None: ...

class SchedulerMessage(_message.Message):
    __slots__ = ("welcome", "lease", "start_run", "stop_run", "ack_run", "ack_usage", "checkpoint_verdict", "read")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    START_RUN_FIELD_NUMBER: _ClassVar[int]
    STOP_RUN_FIELD_NUMBER: _ClassVar[int]
    ACK_RUN_FIELD_NUMBER: _ClassVar[int]
    ACK_USAGE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_VERDICT_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    welcome: AgentWelcome
    lease: AgentLease
    start_run: StartRun
    stop_run: StopRun
    ack_run: AckRun
    ack_usage: AckUsage
    checkpoint_verdict: CheckpointVerdict
    read: AgentRead
    def __init__(self, welcome: _Optional[_Union[AgentWelcome, _Mapping]] = ..., lease: _Optional[_Union[AgentLease, _Mapping]] = ..., start_run: _Optional[_Union[StartRun, _Mapping]] = ..., stop_run: _Optional[_Union[StopRun, _Mapping]] = ..., ack_run: _Optional[_Union[AckRun, _Mapping]] = ..., ack_usage: _Optional[_Union[AckUsage, _Mapping]] = ..., checkpoint_verdict: _Optional[_Union[CheckpointVerdict, _Mapping]] = ..., read: _Optional[_Union[AgentRead, _Mapping]] = ...) -> None: ...

class AgentRun(_message.Message):
    __slots__ = ("task", "token", "state")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    state: _states_pb2.RunState
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., state: _Optional[_Union[_states_pb2.RunState, str]] = ...) -> None: ...

class AgentHello(_message.Message):
    __slots__ = ("node", "incarnation", "boot_id", "site", "software", "protocol_min", "protocol_max", "capability", "runs", "keeper_incarnation", "features")
    NODE_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    BOOT_ID_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MAX_FIELD_NUMBER: _ClassVar[int]
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    KEEPER_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    node: str
    incarnation: str
    boot_id: str
    site: str
    software: str
    protocol_min: int
    protocol_max: int
    capability: _pool_pb2.NodeCapability
    runs: _containers.RepeatedCompositeFieldContainer[AgentRun]
    keeper_incarnation: str
    features: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node: _Optional[str] = ..., incarnation: _Optional[str] = ..., boot_id: _Optional[str] = ..., site: _Optional[str] = ..., software: _Optional[str] = ..., protocol_min: _Optional[int] = ..., protocol_max: _Optional[int] = ..., capability: _Optional[_Union[_pool_pb2.NodeCapability, _Mapping]] = ..., runs: _Optional[_Iterable[_Union[AgentRun, _Mapping]]] = ..., keeper_incarnation: _Optional[str] = ..., features: _Optional[_Iterable[str]] = ...) -> None: ...

class Beat(_message.Message):
    __slots__ = ("seq", "free_disk_bytes", "pressure")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    FREE_DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_FIELD_NUMBER: _ClassVar[int]
    seq: int
    free_disk_bytes: int
    pressure: float
    def __init__(self, seq: _Optional[int] = ..., free_disk_bytes: _Optional[int] = ..., pressure: _Optional[float] = ...) -> None: ...

class AgentRunUpdate(_message.Message):
    __slots__ = ("task", "token", "state", "pid", "started_ms", "ended_ms", "boot_ms", "exit_code", "signal", "outcome", "failure_class", "evidence", "message", "resumed_step", "outputs", "logs", "staged_bytes", "total_bytes")
    class EvidenceEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    BOOT_MS_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    FAILURE_CLASS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RESUMED_STEP_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    STAGED_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    state: _states_pb2.RunState
    pid: int
    started_ms: int
    ended_ms: int
    boot_ms: int
    exit_code: int
    signal: int
    outcome: _states_pb2.Outcome
    failure_class: _states_pb2.FailureClass
    evidence: _containers.ScalarMap[str, str]
    message: str
    resumed_step: int
    outputs: _containers.RepeatedCompositeFieldContainer[_files_pb2.StoredFile]
    logs: _containers.RepeatedCompositeFieldContainer[_files_pb2.StoredFile]
    staged_bytes: int
    total_bytes: int
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., state: _Optional[_Union[_states_pb2.RunState, str]] = ..., pid: _Optional[int] = ..., started_ms: _Optional[int] = ..., ended_ms: _Optional[int] = ..., boot_ms: _Optional[int] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., outcome: _Optional[_Union[_states_pb2.Outcome, str]] = ..., failure_class: _Optional[_Union[_states_pb2.FailureClass, str]] = ..., evidence: _Optional[_Mapping[str, str]] = ..., message: _Optional[str] = ..., resumed_step: _Optional[int] = ..., outputs: _Optional[_Iterable[_Union[_files_pb2.StoredFile, _Mapping]]] = ..., logs: _Optional[_Iterable[_Union[_files_pb2.StoredFile, _Mapping]]] = ..., staged_bytes: _Optional[int] = ..., total_bytes: _Optional[int] = ...) -> None: ...

class UsageSample(_message.Message):
    __slots__ = ("task", "token", "interval", "start_ms", "end_ms", "boot_ms", "cpu_used_ms", "memory_peak_bytes", "final")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    START_MS_FIELD_NUMBER: _ClassVar[int]
    END_MS_FIELD_NUMBER: _ClassVar[int]
    BOOT_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_USED_MS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_PEAK_BYTES_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    interval: int
    start_ms: int
    end_ms: int
    boot_ms: int
    cpu_used_ms: int
    memory_peak_bytes: int
    final: bool
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., interval: _Optional[int] = ..., start_ms: _Optional[int] = ..., end_ms: _Optional[int] = ..., boot_ms: _Optional[int] = ..., cpu_used_ms: _Optional[int] = ..., memory_peak_bytes: _Optional[int] = ..., final: bool = ...) -> None: ...

class CheckpointOffer(_message.Message):
    __slots__ = ("task", "token", "step", "manifest", "size_bytes", "written_boot_ms")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_BOOT_MS_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    step: int
    manifest: str
    size_bytes: int
    written_boot_ms: int
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., step: _Optional[int] = ..., manifest: _Optional[str] = ..., size_bytes: _Optional[int] = ..., written_boot_ms: _Optional[int] = ...) -> None: ...

class AgentByteChunk(_message.Message):
    __slots__ = ("id", "data", "offset", "next_offset", "final", "error", "error_message")
    ID_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    id: int
    data: bytes
    offset: int
    next_offset: int
    final: bool
    error: str
    error_message: str
    def __init__(self, id: _Optional[int] = ..., data: _Optional[bytes] = ..., offset: _Optional[int] = ..., next_offset: _Optional[int] = ..., final: bool = ..., error: _Optional[str] = ..., error_message: _Optional[str] = ...) -> None: ...

class AgentWelcome(_message.Message):
    __slots__ = ("region", "incarnation", "software", "protocol", "beat_ms", "jurisdiction", "features", "kill_ms", "delta_ms")
    REGION_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    BEAT_MS_FIELD_NUMBER: _ClassVar[int]
    JURISDICTION_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    KILL_MS_FIELD_NUMBER: _ClassVar[int]
    DELTA_MS_FIELD_NUMBER: _ClassVar[int]
    region: str
    incarnation: str
    software: str
    protocol: int
    beat_ms: int
    jurisdiction: str
    features: _containers.RepeatedScalarFieldContainer[str]
    kill_ms: int
    delta_ms: int
    def __init__(self, region: _Optional[str] = ..., incarnation: _Optional[str] = ..., software: _Optional[str] = ..., protocol: _Optional[int] = ..., beat_ms: _Optional[int] = ..., jurisdiction: _Optional[str] = ..., features: _Optional[_Iterable[str]] = ..., kill_ms: _Optional[int] = ..., delta_ms: _Optional[int] = ...) -> None: ...

class AgentLease(_message.Message):
    __slots__ = ("seq", "lease_ms")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    seq: int
    lease_ms: int
    def __init__(self, seq: _Optional[int] = ..., lease_ms: _Optional[int] = ...) -> None: ...

class StartRun(_message.Message):
    __slots__ = ("task", "run", "token", "index", "rank", "nodes", "command", "shell", "env", "files", "modes", "outputs", "cpu_millis", "memory_bytes", "disk_bytes", "devices", "timeout_ms", "is_move", "lease_ms", "checkpoint_interval_ms", "checkpoint", "within", "not_within")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TASK_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    MODES_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    CPU_MILLIS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    IS_MOVE_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_INTERVAL_MS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    WITHIN_FIELD_NUMBER: _ClassVar[int]
    NOT_WITHIN_FIELD_NUMBER: _ClassVar[int]
    task: str
    run: int
    token: _token_pb2.Token
    index: int
    rank: int
    nodes: int
    command: _containers.RepeatedScalarFieldContainer[str]
    shell: bool
    env: _containers.ScalarMap[str, str]
    files: _containers.RepeatedCompositeFieldContainer[_files_pb2.StoredFile]
    modes: _containers.RepeatedScalarFieldContainer[int]
    outputs: _containers.RepeatedScalarFieldContainer[str]
    cpu_millis: int
    memory_bytes: int
    disk_bytes: int
    devices: _containers.RepeatedScalarFieldContainer[int]
    timeout_ms: int
    is_move: bool
    lease_ms: int
    checkpoint_interval_ms: int
    checkpoint: _files_pb2.CheckpointRef
    within: _containers.RepeatedScalarFieldContainer[str]
    not_within: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, task: _Optional[str] = ..., run: _Optional[int] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., index: _Optional[int] = ..., rank: _Optional[int] = ..., nodes: _Optional[int] = ..., command: _Optional[_Iterable[str]] = ..., shell: bool = ..., env: _Optional[_Mapping[str, str]] = ..., files: _Optional[_Iterable[_Union[_files_pb2.StoredFile, _Mapping]]] = ..., modes: _Optional[_Iterable[int]] = ..., outputs: _Optional[_Iterable[str]] = ..., cpu_millis: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., devices: _Optional[_Iterable[int]] = ..., timeout_ms: _Optional[int] = ..., is_move: bool = ..., lease_ms: _Optional[int] = ..., checkpoint_interval_ms: _Optional[int] = ..., checkpoint: _Optional[_Union[_files_pb2.CheckpointRef, _Mapping]] = ..., within: _Optional[_Iterable[str]] = ..., not_within: _Optional[_Iterable[str]] = ...) -> None: ...

class StopRun(_message.Message):
    __slots__ = ("task", "token", "outcome", "reason", "notice_ms")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    NOTICE_MS_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    outcome: _states_pb2.Outcome
    reason: str
    notice_ms: int
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., outcome: _Optional[_Union[_states_pb2.Outcome, str]] = ..., reason: _Optional[str] = ..., notice_ms: _Optional[int] = ...) -> None: ...

class AckRun(_message.Message):
    __slots__ = ("task", "token")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ...) -> None: ...

class AckUsage(_message.Message):
    __slots__ = ("task", "token", "interval")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    interval: int
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., interval: _Optional[int] = ...) -> None: ...

class CheckpointVerdict(_message.Message):
    __slots__ = ("task", "token", "step", "committed", "reason")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    step: int
    committed: bool
    reason: str
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., step: _Optional[int] = ..., committed: bool = ..., reason: _Optional[str] = ...) -> None: ...

class AgentRead(_message.Message):
    __slots__ = ("id", "task", "run", "stream", "offset", "limit", "wait_ms")
    ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    id: int
    task: str
    run: int
    stream: str
    offset: int
    limit: int
    wait_ms: int
    def __init__(self, id: _Optional[int] = ..., task: _Optional[str] = ..., run: _Optional[int] = ..., stream: _Optional[str] = ..., offset: _Optional[int] = ..., limit: _Optional[int] = ..., wait_ms: _Optional[int] = ...) -> None: ...
