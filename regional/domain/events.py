"""What happens to a region: events in, outward effects out.

Messages are the values of `intertie.model.link` and `intertie.model.agentlink`, wrapped with the
link that they came by. The shell has verified grants before the core hears of an assignment.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from intertie.model.agentlink import AgentHello, FromAgent, FromRegionToAgent
from intertie.model.lending import Lending, Quantity
from intertie.model.link import Assignment, FromFederation, FromRegion
from intertie.model.spec import TaskSpec
from intertie.residency import Policy
from intertie.values import quick
from regional.domain.runs.run import RegionRun


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class FederationUp:
    """The link to a replica stands."""

    link: int
    replica: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class FederationDown:
    """The link to a replica broke."""

    link: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class FederationSaid:
    """A message of the federation (not an assignment)."""

    link: int
    message: FromFederation


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyHeard:
    """The federation says which residency policy holds; its digest was checked."""

    revision: int
    policy: Policy


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """An assignment whose grant was verified: what was granted, cited by its digest."""

    link: int
    assignment: Assignment
    spec: TaskSpec
    caps: Mapping[str, int]
    grant_sha256: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AssignRefused:
    """An assignment whose grant does not hold."""

    link: int
    assignment: Assignment
    reason: str
    message: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalSent:
    """The shell has sent a lease renewal: the lease counts from `sent_ns` (boot clock), read before
    it was sent, however long this event waits for its batch.
    """

    seq: int
    sent_ns: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUp:
    """An agent attached."""

    link: int
    hello: AgentHello


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDown:
    """An agent's stream ended."""

    link: int
    node: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSaid:
    """A message of an agent."""

    link: int
    node: str
    message: FromAgent


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CreateNative:
    """The operator submits a task of the region's own."""

    ticket: int
    task: str
    spec: TaskSpec
    principal: str
    request_id: str
    request_digest: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Evict:
    """The operator stops a run."""

    ticket: int
    task: str
    reason: str
    request_id: str
    request_digest: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class SetLending:
    """The operator replaces the lending policy; `revision` is the one replaced, -1 = whichever."""

    ticket: int
    policy: Lending
    revision: int
    request_id: str
    request_digest: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CreateReclaim:
    """The operator takes an amount back within `deadline_ms`, for `for_ms` (0 = until returned)."""

    ticket: int
    name: str
    quantity: Quantity
    deadline_ms: int
    for_ms: int
    reason: str
    request_id: str
    request_digest: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnReclaim:
    """The operator lends again what a reclaim took back."""

    ticket: int
    name: str
    request_id: str
    request_digest: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNode:
    """The operator attests that no process of a task can live on a node any longer."""

    ticket: int
    node: str
    reason: str
    request_id: str
    request_digest: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Adjust:
    """The operator corrects a record: `original` are the bytes of its leaf.

    `run` is the key of the record's run, `closed` its row if it was closed when that was read.
    """

    ticket: int
    original: bytes
    run: str
    closed: RegionRun | None
    n: int
    quantity: int
    reason: str
    request_id: str
    request_digest: str


Order = CreateNative | Evict | Adjust | RemoveNode | SetLending | CreateReclaim | ReturnReclaim
"""What an operator orders."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ToFederation:
    """Outward: a message to the federation by this link; lost if it is no more."""

    link: int
    message: FromRegion


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ToNode:
    """Outward: a message to a node by this link; lost if it is no more."""

    node: str
    link: int
    message: FromRegionToAgent


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePending:
    """Outward: there is pending usage for the sequencer."""

    count: int
