"""PolicyService: one policy, its versions, and what another one would change.

Must not hold a policy of its own: the book does.
"""

from collections.abc import Iterator

from federation.domain.core import LIVE, REGION
from federation.domain.region_record import RegionRecord
from federation.server.policy.book import PolicyBook, Version
from intertie.api.federation.v1 import policy_service_pb2 as pb
from intertie.api.federation.v1 import policy_service_pb2_grpc as pb_grpc
from intertie.errors import Reason, error, invalid
from intertie.model.names import REQUEST_ID
from intertie.model.task import Task
from intertie.ports import Clock
from intertie.residency import Policy, day_of, decide, want_of
from intertie.residency.reading import decode_policy
from intertie.store.pump import Pump
from intertie.transport.call import Context, caller
from intertie.wire.scalars import fill_timestamp
from intertie.wire.tokens import Tokens

# ruff: noqa: N802, ARG002 - methods are named by the protocol, and gRPC passes a context to each

MAX_PAGE, PAGE = 1_000, 100
MAX_REASON = 1_000
_COLLECTION = "policies/"


class PolicyServicer(pb_grpc.PolicyServiceServicer):
    """See the protocol for what each method does."""

    def __init__(self, book: PolicyBook, pump: Pump, tokens: Tokens, clock: Clock) -> None:
        self._book = book
        self._pump = pump
        self._tokens = tokens
        self._clock = clock

    async def GetPolicy(self, request: pb.GetPolicyRequest, context: Context) -> pb.Policy:
        if not request.name:
            return _shown(self._book.version, self._book.policy)
        if not request.name.startswith(_COLLECTION):
            raise invalid("name", f"{request.name[:80]!r} is not policies/SHA256")
        found = await self._book.get(request.name.removeprefix(_COLLECTION))
        if found is None:
            raise error(
                Reason.NOT_FOUND,
                f"There is no {request.name[:80]}.",
                remedy="List the versions (intertie policy history).",
            )
        return _shown(*found)

    async def SetPolicy(self, request: pb.SetPolicyRequest, context: Context) -> pb.Policy:
        policy = decode_policy(request.body)
        if not REQUEST_ID.fullmatch(request.request_id):
            raise invalid("request_id", "must be a UUID")
        if not 1 <= len(request.reason) <= MAX_REASON:
            raise invalid("reason", f"must have 1 to {MAX_REASON} characters")
        if request.validate_only:
            return _shown(Version(sha256=policy.sha256), policy)
        version = await self._book.set(
            policy,
            etag=request.etag,
            setter=str(caller()),
            reason=request.reason,
            request_id=request.request_id,
        )
        return _shown(version, policy)

    async def ListPolicyVersions(
        self, request: pb.ListPolicyVersionsRequest, context: Context
    ) -> pb.ListPolicyVersionsResponse:
        size = _size("page_size", request.page_size)
        before = 0
        if request.page_token:
            opened = self._tokens.open("policies", (), request.page_token, "page_token")
            before = int(opened.decode())
        found = await self._book.versions(size + 1, before)
        token = ""
        if len(found) > size:
            token = self._tokens.seal("policies", (), str(found[size - 1].revision).encode())
        shown = [_shown(version, None) for version in found[:size]]
        return pb.ListPolicyVersionsResponse(policies=shown, next_page_token=token)

    async def RehearsePolicy(
        self, request: pb.RehearsePolicyRequest, context: Context
    ) -> pb.RehearsePolicyResponse:
        policy, limit = decode_policy(request.body), _size("limit", request.limit)
        tasks = [t for t in self._pump.drive.view.values(LIVE) if isinstance(t, Task)]
        response = pb.RehearsePolicyResponse(tasks=len(tasks))
        for task in tasks:
            for change in self._changes(task, policy):
                response.total += 1
                if len(response.changes) < limit:
                    response.changes.append(change)
        return response

    def _changes(self, task: Task, policy: Policy) -> Iterator[pb.PolicyChange]:
        assert task.spec is not None, "a live task holds its spec"
        records = [r for r in self._pump.drive.view.values(REGION) if isinstance(r, RegionRecord)]
        asked = want_of(task.spec, {record.id: record.jurisdiction for record in records})
        today = day_of(self._clock.now().utc_ms)
        for record in sorted(records, key=lambda record: record.id):
            now = decide(self._book.policy, asked, record.jurisdiction, today)
            then = decide(policy, asked, record.jurisdiction, today)
            if now.allowed != then.allowed:
                yield pb.PolicyChange(
                    task=str(task.name),
                    region=record.id,
                    assigned=task.region == record.id,
                    allowed_now=now.allowed,
                    allowed_then=then.allowed,
                    rule=then.rule,
                    reason=then.reason,
                )


def _size(field: str, given: int) -> int:
    if not 0 <= given <= MAX_PAGE:
        raise invalid(field, f"must be between 1 and {MAX_PAGE}, or 0 for {PAGE}")
    return given or PAGE


def _shown(version: Version, policy: Policy | None) -> pb.Policy:
    """A version; without its policy as lists show it."""
    message = pb.Policy(
        name=f"{_COLLECTION}{version.sha256}",
        revision=version.revision,
        sha256=version.sha256,
        body=policy.canonical if policy is not None and policy.is_set else b"",
        etag=version.etag,
        creator=version.setter,
        reason=version.reason,
    )
    if version.set_ms:
        fill_timestamp(version.set_ms, message.create_time)
    return message
