"""The client of the residency policy: read it, set it, see what another one would change."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Self

from intertie.api.federation.v1 import policy_service_pb2 as pb
from intertie.api.federation.v1.policy_service_pb2_grpc import PolicyServiceStub
from intertie.clock import SystemIds
from intertie.ports import IdSource
from intertie.residency import Policy
from intertie.residency.reading import decode_policy
from intertie.sdk.connection import Connection, Endpoint, OnRetry, Patience
from intertie.sdk.contexts import load_contexts
from intertie.wire.mapping import mapper

PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """A version of the policy; `body` is its canonical bytes, empty in lists."""

    name: str
    revision: int
    sha256: str
    body: bytes = b""
    etag: str = ""
    created_ms: int = 0
    creator: str = ""
    reason: str = ""

    @property
    def policy(self) -> Policy:
        """The policy of the body."""
        return decode_policy(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """A verdict that another policy would change; `assigned` = the task is there now."""

    task: str
    region: str
    assigned: bool
    allowed_now: bool
    allowed_then: bool
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What another policy would change: the first changes, how many in all, of how many tasks."""

    changes: tuple[PolicyChange, ...]
    total: int
    tasks: int


VERSION = mapper(PolicyVersion, pb.Policy)
CHANGE = mapper(PolicyChange, pb.PolicyChange)


class PolicyClient:
    """See the module's text. For one event loop."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        ids: IdSource | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        on_retry: OnRetry | None = None,
    ) -> None:
        self._connection = Connection(endpoint, patience=patience, on_retry=on_retry)
        self._ids = ids or SystemIds()

    @classmethod
    def from_context(cls, name: str = "", *, on_retry: OnRetry | None = None) -> Self:
        """A client of the federation that a context names."""
        return cls(load_contexts().get(name).federation(), on_retry=on_retry)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def get(self, sha256: str = "") -> PolicyVersion:
        """The version that holds, or one by its digest."""
        name = f"policies/{sha256}" if sha256 else ""
        return VERSION.from_pb(await self._call("GetPolicy", pb.GetPolicyRequest(name=name)))

    async def set(self, policy: Policy, *, etag: str, reason: str) -> PolicyVersion:
        """Replace the version with this etag; empty = whichever. ETAG_MISMATCH if it is gone."""
        request = pb.SetPolicyRequest(
            body=policy.canonical if policy.is_set else b"",
            etag=etag,
            reason=reason,
            request_id=self._ids.uuid7(),
        )
        return VERSION.from_pb(await self._call("SetPolicy", request))

    async def history(self) -> AsyncIterator[PolicyVersion]:
        """Versions, the newest first, without bodies."""
        request = pb.ListPolicyVersionsRequest(page_size=PAGE)
        async for page in self._connection.pages(PolicyServiceStub, "ListPolicyVersions", request):
            for found in page.policies:
                yield VERSION.from_pb(found)

    async def rehearse(self, policy: Policy) -> Rehearsal:
        """What the policy would change for live tasks."""
        body = policy.canonical if policy.is_set else b""
        answer = await self._call("RehearsePolicy", pb.RehearsePolicyRequest(body=body))
        changes = tuple(CHANGE.from_pb(change) for change in answer.changes)
        return Rehearsal(changes, answer.total, answer.tasks)

    async def _call(self, method: str, request: object) -> Any:  # noqa: ANN401 - its answer
        return await self._connection.unary(PolicyServiceStub, method, request)
