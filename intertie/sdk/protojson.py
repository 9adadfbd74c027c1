"""Values as JSON: proto JSON with the names of the protocol, as api.md says.

Instants are RFC 3339, durations `1.5s`, 64-bit integers strings, and fields that have their default
are left out: what a client in any language prints for the same message.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict

from intertie.model.lending import Lending, Reclaim
from intertie.model.spec import TaskSpec
from intertie.model.task import Plan, Run, Task, TaskEvent
from intertie.sdk.membership.values import (
    BAN,
    DRAIN,
    IDENTITY,
    JOIN,
    TOKEN,
    WHO_AM_I,
    Ban,
    Drain,
    IssuedIdentity,
    Join,
    JoinToken,
    WhoAmI,
)
from intertie.sdk.resources import (
    LENDING,
    NODE,
    POOL_RUN,
    RECLAIM,
    REGION,
    TASK_OUTPUT,
    Node,
    PoolRun,
    Region,
    TaskOutput,
)
from intertie.wire.mapping import Mapper
from intertie.wire.tasks import EVENT, PLAN, RUN, SPEC, TASK

_MAPPERS: Mapping[type[Any], Mapper[Any, Any]] = {
    Task: TASK,
    TaskSpec: SPEC,
    Run: RUN,
    TaskEvent: EVENT,
    Plan: PLAN,
    Region: REGION,
    Node: NODE,
    PoolRun: POOL_RUN,
    Lending: LENDING,
    Reclaim: RECLAIM,
    TaskOutput: TASK_OUTPUT,
    JoinToken: TOKEN,
    Join: JOIN,
    Ban: BAN,
    Drain: DRAIN,
    IssuedIdentity: IDENTITY,
    WhoAmI: WHO_AM_I,
}


def json_of(value: object) -> dict[str, Any]:
    """The JSON object of a resource."""
    message = _MAPPERS[type(value)].to_pb(value)
    return MessageToDict(message, preserving_proto_field_name=True)
