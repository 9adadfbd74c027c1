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

class RegionMessage(_message.Message):
    __slots__ = ("hello", "lease_renew", "summary", "offer", "assign_ack", "run_update", "run_digest", "byte_chunk", "rtt_report")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    LEASE_RENEW_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    OFFER_FIELD_NUMBER: _ClassVar[int]
    ASSIGN_ACK_FIELD_NUMBER: _ClassVar[int]
    RUN_UPDATE_FIELD_NUMBER: _ClassVar[int]
    RUN_DIGEST_FIELD_NUMBER: _ClassVar[int]
    BYTE_CHUNK_FIELD_NUMBER: _ClassVar[int]
    RTT_REPORT_FIELD_NUMBER: _ClassVar[int]
    hello: RegionHello
    lease_renew: LeaseRenew
    summary: _pool_pb2.Summary
    offer: Offer
    assign_ack: AssignAck
    run_update: RunUpdate
    run_digest: RunDigest
    byte_chunk: ByteChunk
    rtt_report: RttReport
    def __init__(self, hello: _Optional[_Union[RegionHello, _Mapping]] = ..., lease_renew: _Optional[_Union[LeaseRenew, _Mapping]] = ..., summary: _Optional[_Union[_pool_pb2.Summary, _Mapping]] = ..., offer: _Optional[_Union[Offer, _Mapping]] = ..., assign_ack: _Optional[_Union[AssignAck, _Mapping]] = ..., run_update: _Optional[_Union[RunUpdate, _Mapping]] = ..., run_digest: _Optional[_Union[RunDigest, _Mapping]] = ..., byte_chunk: _Optional[_Union[ByteChunk, _Mapping]] = ..., rtt_report: _Optional[_Union[RttReport, _Mapping]] = ...) -> None: ...

class FederationMessage(_message.Message):
    __slots__ = ("hello", "lease_grant", "offer_request", "offer_release", "assign", "cancel_run", "run_closed", "digest_request", "read_bytes", "policy_update", "beacons")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    LEASE_GRANT_FIELD_NUMBER: _ClassVar[int]
    OFFER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    OFFER_RELEASE_FIELD_NUMBER: _ClassVar[int]
    ASSIGN_FIELD_NUMBER: _ClassVar[int]
    CANCEL_RUN_FIELD_NUMBER: _ClassVar[int]
    RUN_CLOSED_FIELD_NUMBER: _ClassVar[int]
    DIGEST_REQUEST_FIELD_NUMBER: _ClassVar[int]
    READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    POLICY_UPDATE_FIELD_NUMBER: _ClassVar[int]
    BEACONS_FIELD_NUMBER: _ClassVar[int]
    hello: FederationHello
    lease_grant: LeaseGrant
    offer_request: OfferRequest
    offer_release: OfferRelease
    assign: Assign
    cancel_run: CancelRun
    run_closed: RunClosed
    digest_request: DigestRequest
    read_bytes: ReadBytes
    policy_update: PolicyUpdate
    beacons: Beacons
    def __init__(self, hello: _Optional[_Union[FederationHello, _Mapping]] = ..., lease_grant: _Optional[_Union[LeaseGrant, _Mapping]] = ..., offer_request: _Optional[_Union[OfferRequest, _Mapping]] = ..., offer_release: _Optional[_Union[OfferRelease, _Mapping]] = ..., assign: _Optional[_Union[Assign, _Mapping]] = ..., cancel_run: _Optional[_Union[CancelRun, _Mapping]] = ..., run_closed: _Optional[_Union[RunClosed, _Mapping]] = ..., digest_request: _Optional[_Union[DigestRequest, _Mapping]] = ..., read_bytes: _Optional[_Union[ReadBytes, _Mapping]] = ..., policy_update: _Optional[_Union[PolicyUpdate, _Mapping]] = ..., beacons: _Optional[_Union[Beacons, _Mapping]] = ...) -> None: ...

class RegionHello(_message.Message):
    __slots__ = ("region", "incarnation", "jurisdiction", "software", "protocol_min", "protocol_max", "features", "log_vkey", "beacon")
    REGION_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    JURISDICTION_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MAX_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    LOG_VKEY_FIELD_NUMBER: _ClassVar[int]
    BEACON_FIELD_NUMBER: _ClassVar[int]
    region: str
    incarnation: str
    jurisdiction: str
    software: str
    protocol_min: int
    protocol_max: int
    features: _containers.RepeatedScalarFieldContainer[str]
    log_vkey: str
    beacon: str
    def __init__(self, region: _Optional[str] = ..., incarnation: _Optional[str] = ..., jurisdiction: _Optional[str] = ..., software: _Optional[str] = ..., protocol_min: _Optional[int] = ..., protocol_max: _Optional[int] = ..., features: _Optional[_Iterable[str]] = ..., log_vkey: _Optional[str] = ..., beacon: _Optional[str] = ...) -> None: ...

class LeaseRenew(_message.Message):
    __slots__ = ("seq",)
    SEQ_FIELD_NUMBER: _ClassVar[int]
    seq: int
    def __init__(self, seq: _Optional[int] = ...) -> None: ...

class Offer(_message.Message):
    __slots__ = ("id", "units", "units_now", "expected_wait_ms", "hold_ms", "incarnation", "variant", "refusal")
    ID_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    UNITS_NOW_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    HOLD_MS_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    id: str
    units: int
    units_now: int
    expected_wait_ms: int
    hold_ms: int
    incarnation: str
    variant: int
    refusal: str
    def __init__(self, id: _Optional[str] = ..., units: _Optional[int] = ..., units_now: _Optional[int] = ..., expected_wait_ms: _Optional[int] = ..., hold_ms: _Optional[int] = ..., incarnation: _Optional[str] = ..., variant: _Optional[int] = ..., refusal: _Optional[str] = ...) -> None: ...

class AssignAck(_message.Message):
    __slots__ = ("task", "epoch", "accepted", "reason", "message")
    TASK_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    task: str
    epoch: _token_pb2.Epoch
    accepted: bool
    reason: str
    message: str
    def __init__(self, task: _Optional[str] = ..., epoch: _Optional[_Union[_token_pb2.Epoch, _Mapping]] = ..., accepted: bool = ..., reason: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class RunUpdate(_message.Message):
    __slots__ = ("task", "token", "revision", "state", "outcome", "node", "placements", "started_ms", "ended_ms", "exit_code", "signal", "failure_class", "cause", "message", "useful_ms", "lost_ms", "reclaimed_ms", "resumed_step", "checkpoint", "outputs", "logs", "excluded")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    PLACEMENTS_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    FAILURE_CLASS_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    USEFUL_MS_FIELD_NUMBER: _ClassVar[int]
    LOST_MS_FIELD_NUMBER: _ClassVar[int]
    RECLAIMED_MS_FIELD_NUMBER: _ClassVar[int]
    RESUMED_STEP_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    revision: int
    state: _states_pb2.RunState
    outcome: _states_pb2.Outcome
    node: str
    placements: int
    started_ms: int
    ended_ms: int
    exit_code: int
    signal: int
    failure_class: _states_pb2.FailureClass
    cause: str
    message: str
    useful_ms: int
    lost_ms: int
    reclaimed_ms: int
    resumed_step: int
    checkpoint: _files_pb2.CheckpointRef
    outputs: _containers.RepeatedCompositeFieldContainer[_files_pb2.StoredFile]
    logs: _containers.RepeatedCompositeFieldContainer[_files_pb2.StoredFile]
    excluded: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., revision: _Optional[int] = ..., state: _Optional[_Union[_states_pb2.RunState, str]] = ..., outcome: _Optional[_Union[_states_pb2.Outcome, str]] = ..., node: _Optional[str] = ..., placements: _Optional[int] = ..., started_ms: _Optional[int] = ..., ended_ms: _Optional[int] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., failure_class: _Optional[_Union[_states_pb2.FailureClass, str]] = ..., cause: _Optional[str] = ..., message: _Optional[str] = ..., useful_ms: _Optional[int] = ..., lost_ms: _Optional[int] = ..., reclaimed_ms: _Optional[int] = ..., resumed_step: _Optional[int] = ..., checkpoint: _Optional[_Union[_files_pb2.CheckpointRef, _Mapping]] = ..., outputs: _Optional[_Iterable[_Union[_files_pb2.StoredFile, _Mapping]]] = ..., logs: _Optional[_Iterable[_Union[_files_pb2.StoredFile, _Mapping]]] = ..., excluded: _Optional[_Iterable[str]] = ...) -> None: ...

class DigestEntry(_message.Message):
    __slots__ = ("task", "token", "state", "revision")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    state: _states_pb2.RunState
    revision: int
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., state: _Optional[_Union[_states_pb2.RunState, str]] = ..., revision: _Optional[int] = ...) -> None: ...

class RunDigest(_message.Message):
    __slots__ = ("id", "entries", "last")
    ID_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    id: int
    entries: _containers.RepeatedCompositeFieldContainer[DigestEntry]
    last: bool
    def __init__(self, id: _Optional[int] = ..., entries: _Optional[_Iterable[_Union[DigestEntry, _Mapping]]] = ..., last: bool = ...) -> None: ...

class ByteChunk(_message.Message):
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

class FederationHello(_message.Message):
    __slots__ = ("replica", "software", "protocol", "generation", "features")
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    replica: str
    software: str
    protocol: int
    generation: int
    features: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, replica: _Optional[str] = ..., software: _Optional[str] = ..., protocol: _Optional[int] = ..., generation: _Optional[int] = ..., features: _Optional[_Iterable[str]] = ...) -> None: ...

class LeaseGrant(_message.Message):
    __slots__ = ("seq", "lease_ms")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    seq: int
    lease_ms: int
    def __init__(self, seq: _Optional[int] = ..., lease_ms: _Optional[int] = ...) -> None: ...

class OfferRequest(_message.Message):
    __slots__ = ("id", "shapes", "count", "hold_ms", "within", "not_within", "excluded")
    ID_FIELD_NUMBER: _ClassVar[int]
    SHAPES_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    HOLD_MS_FIELD_NUMBER: _ClassVar[int]
    WITHIN_FIELD_NUMBER: _ClassVar[int]
    NOT_WITHIN_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    id: str
    shapes: _containers.RepeatedCompositeFieldContainer[_pool_pb2.Shape]
    count: int
    hold_ms: int
    within: _containers.RepeatedScalarFieldContainer[str]
    not_within: _containers.RepeatedScalarFieldContainer[str]
    excluded: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., shapes: _Optional[_Iterable[_Union[_pool_pb2.Shape, _Mapping]]] = ..., count: _Optional[int] = ..., hold_ms: _Optional[int] = ..., within: _Optional[_Iterable[str]] = ..., not_within: _Optional[_Iterable[str]] = ..., excluded: _Optional[_Iterable[str]] = ...) -> None: ...

class OfferRelease(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class Assignment(_message.Message):
    __slots__ = ("task", "epoch", "shard", "shard_epoch", "offer", "variant", "local_retries", "attempts_left", "index", "spec", "principal", "payer", "excluded", "checkpoint")
    TASK_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SHARD_EPOCH_FIELD_NUMBER: _ClassVar[int]
    OFFER_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    LOCAL_RETRIES_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_LEFT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PAYER_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    task: str
    epoch: _token_pb2.Epoch
    shard: int
    shard_epoch: int
    offer: str
    variant: int
    local_retries: int
    attempts_left: int
    index: int
    spec: bytes
    principal: str
    payer: str
    excluded: _containers.RepeatedScalarFieldContainer[str]
    checkpoint: _files_pb2.CheckpointRef
    def __init__(self, task: _Optional[str] = ..., epoch: _Optional[_Union[_token_pb2.Epoch, _Mapping]] = ..., shard: _Optional[int] = ..., shard_epoch: _Optional[int] = ..., offer: _Optional[str] = ..., variant: _Optional[int] = ..., local_retries: _Optional[int] = ..., attempts_left: _Optional[int] = ..., index: _Optional[int] = ..., spec: _Optional[bytes] = ..., principal: _Optional[str] = ..., payer: _Optional[str] = ..., excluded: _Optional[_Iterable[str]] = ..., checkpoint: _Optional[_Union[_files_pb2.CheckpointRef, _Mapping]] = ...) -> None: ...

class Assign(_message.Message):
    __slots__ = ("assignment", "grant", "grant_index", "proof", "envelope")
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    GRANT_INDEX_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    assignment: Assignment
    grant: bytes
    grant_index: int
    proof: _containers.RepeatedScalarFieldContainer[bytes]
    envelope: bytes
    def __init__(self, assignment: _Optional[_Union[Assignment, _Mapping]] = ..., grant: _Optional[bytes] = ..., grant_index: _Optional[int] = ..., proof: _Optional[_Iterable[bytes]] = ..., envelope: _Optional[bytes] = ...) -> None: ...

class CancelRun(_message.Message):
    __slots__ = ("task", "epoch", "reason", "superseded", "evict")
    TASK_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    EVICT_FIELD_NUMBER: _ClassVar[int]
    task: str
    epoch: _token_pb2.Epoch
    reason: str
    superseded: bool
    evict: bool
    def __init__(self, task: _Optional[str] = ..., epoch: _Optional[_Union[_token_pb2.Epoch, _Mapping]] = ..., reason: _Optional[str] = ..., superseded: bool = ..., evict: bool = ...) -> None: ...

class RunClosed(_message.Message):
    __slots__ = ("task", "token")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ...) -> None: ...

class DigestRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: int
    def __init__(self, id: _Optional[int] = ...) -> None: ...

class ReadBytes(_message.Message):
    __slots__ = ("id", "task", "run", "rank", "stream", "path", "offset", "limit", "wait_ms", "relay", "reader")
    ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    RELAY_FIELD_NUMBER: _ClassVar[int]
    READER_FIELD_NUMBER: _ClassVar[int]
    id: int
    task: str
    run: int
    rank: int
    stream: str
    path: str
    offset: int
    limit: int
    wait_ms: int
    relay: str
    reader: str
    def __init__(self, id: _Optional[int] = ..., task: _Optional[str] = ..., run: _Optional[int] = ..., rank: _Optional[int] = ..., stream: _Optional[str] = ..., path: _Optional[str] = ..., offset: _Optional[int] = ..., limit: _Optional[int] = ..., wait_ms: _Optional[int] = ..., relay: _Optional[str] = ..., reader: _Optional[str] = ...) -> None: ...

class PolicyUpdate(_message.Message):
    __slots__ = ("revision", "sha256", "body")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    revision: int
    sha256: str
    body: bytes
    def __init__(self, revision: _Optional[int] = ..., sha256: _Optional[str] = ..., body: _Optional[bytes] = ...) -> None: ...

class RttReport(_message.Message):
    __slots__ = ("round_trips",)
    ROUND_TRIPS_FIELD_NUMBER: _ClassVar[int]
    round_trips: _containers.RepeatedCompositeFieldContainer[RoundTrip]
    def __init__(self, round_trips: _Optional[_Iterable[_Union[RoundTrip, _Mapping]]] = ...) -> None: ...

class RoundTrip(_message.Message):
    __slots__ = ("region", "p50_us", "p95_us", "samples", "lost", "age_ms")
    REGION_FIELD_NUMBER: _ClassVar[int]
    P50_US_FIELD_NUMBER: _ClassVar[int]
    P95_US_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    region: str
    p50_us: int
    p95_us: int
    samples: int
    lost: int
    age_ms: int
    def __init__(self, region: _Optional[str] = ..., p50_us: _Optional[int] = ..., p95_us: _Optional[int] = ..., samples: _Optional[int] = ..., lost: _Optional[int] = ..., age_ms: _Optional[int] = ...) -> None: ...

class Beacons(_message.Message):
    __slots__ = ("beacons",)
    BEACONS_FIELD_NUMBER: _ClassVar[int]
    beacons: _containers.RepeatedCompositeFieldContainer[Beacon]
    def __init__(self, beacons: _Optional[_Iterable[_Union[Beacon, _Mapping]]] = ...) -> None: ...

class Beacon(_message.Message):
    __slots__ = ("region", "address")
    REGION_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    region: str
    address: str
    def __init__(self, region: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...
