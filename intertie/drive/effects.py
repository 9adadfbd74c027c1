"""What a domain asks for: durable effects, replies, and anything else that goes outward.

A domain's `handle` returns a list of effects. The drive makes the durable ones one commit and
releases the others, in order, only after that commit is durable (invariant I13: commit before send
or ack).
"""

from dataclasses import dataclass

from intertie.errors import IntertieError
from intertie.values import quick


@quick
@dataclass(frozen=True, slots=True)
class Write:
    """The new state of an entity. `scope` and `ord` are what lists are read by (see
    `ports.Put`).
    """

    shard: int
    kind: str
    key: str
    value: object
    scope: str = ""
    ord: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Erase:
    """Remove an entity."""

    shard: int
    kind: str
    key: str


@quick
@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the shard's change log, under the next dense number."""

    shard: int
    key: str
    scope: str
    value: object


@quick
@dataclass(frozen=True, slots=True)
class Reserve:
    """Make a unique name durable together with its effect (a request_id with what it created)."""

    shard: int
    space: str
    name: str
    digest: str
    result: str


@quick
@dataclass(frozen=True, slots=True)
class Reply:
    """Answer the caller that waits under `ticket`."""

    ticket: int
    value: object


@quick
@dataclass(frozen=True, slots=True)
class Fail:
    """Answer the caller that waits under `ticket` with an error."""

    ticket: int
    error: IntertieError


@quick
@dataclass(frozen=True, slots=True)
class Replayed:
    """The reply to a request whose request_id is taken by the same payload: what it made then."""

    result: str


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """The request_id of an event: a unique name, the payload's digest, and who waits."""

    space: str
    name: str
    digest: str
    ticket: int


@quick
@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: timers are due. Sent when the core's `deadline` is reached."""


Durable = Write | Erase | Record | Reserve
Effect = object
"""A durable effect, `Reply`, `Fail`, or any outward value that the service's shell knows."""
