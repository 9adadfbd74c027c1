"""What happens to the federation: events in, outward effects out.

Events come from clients (with a `ticket` for the answer), from links, and from time. Messages of
regions are the values of `intertie.model.link`, wrapped with the link that they came by.
"""

from dataclasses import dataclass

from federation.domain.routing.supposing import NOTHING, WhatIf
from intertie.model.link import FederationHello, FromFederation, FromRegion, RegionHello
from intertie.model.spec import TaskSpec
from intertie.model.task import Task
from intertie.model.token import Epoch
from intertie.residency import Policy
from intertie.values import quick


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTask:
    """A client submits. `ids` are fresh task ids, one per task of an array (one if it is none).

    `spec_sha256` names the shared spec of an array. `principal` is the opaque id of who acts, for
    usage; `actor` is the identity, for the task's own events.
    """

    ticket: int
    project: str
    ids: tuple[str, ...]
    spec: TaskSpec
    spec_sha256: str
    principal: str
    actor: str
    request_id: str
    request_digest: str
    fail_if_unmatched: bool = False


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CancelTask:
    """A client asks that a task end."""

    ticket: int
    id: str
    project: str
    reason: str
    actor: str
    request_id: str
    request_digest: str
    etag: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChanged:
    """Another version of the residency policy holds."""

    policy: Policy


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AskPlan:
    """A client asks what would happen to a spec, as things are or as they might be."""

    ticket: int
    spec: TaskSpec
    project: str = ""
    what_if: WhatIf = NOTHING


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class KeepBlob:
    """A project has shown that it has a blob, or asked for its own again: keep it for a while."""

    ticket: int
    project: str
    sha256: str
    size: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetBlob:
    """Nobody asked for these rows of a blob for long; answered with whether they are gone.

    They stay while a live task needs the blob.
    """

    ticket: int
    sha256: str
    projects: tuple[str, ...]


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptBlobs:
    """Once for a store that was made before who uploaded what was kept.

    The projects of live tasks count as having uploaded what these need.
    """

    ticket: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkUp:
    """A region attaches; the stream waits for the answer. `link` tells it from earlier ones.

    `welcome` is sent first if the region is admitted.
    """

    ticket: int
    link: int
    hello: RegionHello
    welcome: FederationHello


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDown:
    """A region's stream ended."""

    link: int
    region: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A message of a region."""

    link: int
    region: str
    message: FromRegion


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Outward: a message to a region, by the link that stood when it was decided, and by no other.

    The core fills `link` in: 0 = the region had none, and the message is lost. What is lost is
    repaired by digests.
    """

    region: str
    message: FromFederation
    link: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class SendAssignment:
    """Outward: send the newest run of a task to its region, with its signed grant.

    Encoding the spec and signing `grant` (its canonical bytes) are the shell's. `link` as in
    `Send`.
    """

    task: Task
    grant: bytes
    offer: str
    local_retries: int
    shard_epoch: int
    link: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGrant:
    """Outward: read a stored grant; `GrantRead` is the answer. Lost if the store is away."""

    task: str
    epoch: Epoch
    shard: int
    sha256: str


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRead:
    """The stored grant of a run, byte for byte as it was first sent."""

    task: str
    epoch: Epoch
    grant: bytes
