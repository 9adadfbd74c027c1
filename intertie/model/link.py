"""Messages between a region and the federation (LinkService.Attach), as both domains see them.

`federation` and `regional` never import each other; these values are their common language, and
`intertie.wire` maps each to its protobuf message field by field. Durations in ms.
"""

from dataclasses import dataclass

from intertie.model.pool import Shape, Summary
from intertie.model.states import FailureClass, Outcome, RunState
from intertie.model.task import CheckpointRef, StoredFile
from intertie.model.token import Epoch, Token
from intertie.values import quick

# --- region -> federation ------------------------------------------------------------------------


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RegionHello:
    """First message of a link: who speaks, since when, and which software."""

    region: str
    incarnation: str
    jurisdiction: str
    software: str
    protocol_min: int
    protocol_max: int
    features: tuple[str, ...] = ()
    log_vkey: str = ""
    beacon: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRenew:
    """Ask for a lease; `seq` comes back in the grant: the holder knows when it sent this."""

    seq: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Answer to an OfferRequest: how many units can start, and how soon."""

    id: str
    units: int
    units_now: int
    expected_wait_ms: int
    hold_ms: int
    incarnation: str
    variant: int = -1
    refusal: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AssignAck:
    """The region has durably accepted, or refuses. `excluded` are nodes not to be tried again."""

    task: str
    epoch: Epoch
    accepted: bool
    reason: str = ""
    message: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RunUpdate:
    """The whole state of a run at its region; the newest replaces all earlier ones.

    `revision` grows with each change of the run in the region's store, so that late ones are
    dropped. An ENDED update is sent again until RunClosed answers it.
    """

    task: str
    token: Token
    revision: int
    state: RunState
    outcome: Outcome | None = None
    node: str = ""
    placements: int = 0
    started_ms: int = 0
    ended_ms: int = 0
    exit_code: int | None = None
    signal: int = 0
    failure_class: FailureClass | None = None
    cause: str = ""
    message: str = ""
    useful_ms: int = 0
    lost_ms: int = 0
    reclaimed_ms: int = 0
    resumed_step: int = 0
    checkpoint: CheckpointRef | None = None
    outputs: tuple[StoredFile, ...] = ()
    logs: tuple[StoredFile, ...] = ()
    excluded: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class DigestEntry:
    """One run in a digest."""

    task: str
    token: Token
    state: RunState
    revision: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RunDigest:
    """All guest runs that the region has not closed, in parts: `last` ends the digest `id`."""

    id: int
    entries: tuple[DigestEntry, ...]
    last: bool


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Bytes:
    """A chunk of a log or output. `next_offset` is where to go on; `final` = nothing follows."""

    id: int
    data: bytes
    offset: int
    next_offset: int
    final: bool
    error: str = ""
    error_message: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """Round trips to the beacon of one region; as `intertie.latency.Stats`."""

    region: str
    p50_us: int
    p95_us: int
    samples: int
    lost: int = 0
    age_ms: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RttReport:
    """Round trips as the region measured them; replaces what it said before."""

    round_trips: tuple[RoundTrip, ...]


# --- federation -> region ------------------------------------------------------------------------


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class FederationHello:
    """Answer to RegionHello."""

    replica: str
    software: str
    protocol: int
    generation: int
    features: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseGrant:
    """A lease of `lease_ms` from when renewal `seq` was sent, for all `move` runs of the region."""

    seq: int
    lease_ms: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class OfferRequest:
    """Ask what the region can do now for `count` units. `hold_ms` 0 = do not hold (plan).

    `shapes` are the variants in order of preference.
    """

    id: str
    shapes: tuple[Shape, ...]
    count: int
    hold_ms: int
    within: tuple[str, ...] = ()
    not_within: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class OfferRelease:
    """Let a hold go."""

    id: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What is assigned: becomes `Assign` when the shell has signed its grant."""

    task: str
    epoch: Epoch
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
    excluded: tuple[str, ...] = ()
    checkpoint: CheckpointRef | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Assign:
    """An assignment with its federation-signed grant (`intertie.metering.grant`).

    `grant` are the canonical bytes; `index`, `proof` and `envelope` prove them under one signature.
    """

    assignment: Assignment
    grant: bytes
    grant_index: int
    proof: tuple[bytes, ...]
    envelope: bytes


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun:
    """Stop a run. `superseded` = a newer run exists; `evict` = the task is to run elsewhere, for
    the region is being drained; else the task was cancelled.
    """

    task: str
    epoch: Epoch
    reason: str
    superseded: bool = False
    evict: bool = False


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RunClosed:
    """The final update of a run is durable at the federation: no need to resend it."""

    task: str
    token: Token


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRequest:
    """Ask for a digest now."""

    id: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBytes:
    """Ask for a chunk of a log (`stdout`, `stderr`) or output (`path`). Waits up to `wait_ms`.

    A negative offset counts from the end. `relay` and `reader` are the jurisdiction paths of the
    places that the bytes pass and come to, empty where none is declared.
    """

    id: int
    task: str
    run: int
    rank: int
    stream: str
    path: str
    offset: int
    limit: int
    wait_ms: int
    relay: str = ""
    reader: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyUpdate:
    """The residency policy that holds: `body` is its canonical bytes; the newest counts."""

    revision: int
    sha256: str
    body: bytes


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Beacon:
    """Where a region echoes probes: host:port over UDP."""

    region: str
    address: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Beacons:
    """Where beacons are, the receiver's own among them; replaces what was said before."""

    beacons: tuple[Beacon, ...]


FromRegion = (
    RegionHello
    | LeaseRenew
    | Summary
    | Offer
    | AssignAck
    | RunUpdate
    | RunDigest
    | Bytes
    | RttReport
)
FromFederation = (
    FederationHello
    | LeaseGrant
    | OfferRequest
    | OfferRelease
    | Assign
    | CancelRun
    | RunClosed
    | DigestRequest
    | ReadBytes
    | PolicyUpdate
    | Beacons
)
