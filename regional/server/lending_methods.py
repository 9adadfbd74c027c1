"""The methods of PoolService about lending: the policy, and reclaims.

Checks what an operator sends, field by field; the core decides.
"""

from collections.abc import Awaitable, Callable

from google.protobuf.message import Message

from intertie.api.regional.v1 import lending_pb2
from intertie.api.regional.v1 import pool_service_pb2 as pb
from intertie.drive.effects import Replayed
from intertie.errors import Reason, error, invalid
from intertie.model.lending import (
    MINUTES_A_DAY,
    WHOLE,
    Hours,
    Lending,
    ProjectCap,
    Quantity,
    Reclaim,
)
from intertie.model.names import PROJECT
from intertie.model.spec import Kind
from intertie.ports import IdSource, Store
from intertie.store.codec import decoder
from intertie.store.pump import Pump
from intertie.transport.call import Context
from intertie.wire.canonical import request_digest
from intertie.wire.mapping import mapper
from regional.domain.core import REQUESTS, SHARD
from regional.domain.events import CreateReclaim, ReturnReclaim, SetLending
from regional.domain.lending.lender import LENDING, ONLY, RECLAIM, RECLAIMS
from regional.server.paging import Pages, check_reason, check_request_id, page_size

LENDING_PB = mapper(Lending, lending_pb2.Lending)
RECLAIM_PB = mapper(Reclaim, lending_pb2.Reclaim)
_QUANTITY = mapper(Quantity, lending_pb2.Quantity)
_decode_lending, _decode_reclaim = decoder(Lending), decoder(Reclaim)
_MAX_LIST = 1_000
_MAX_WORD = 128
_WEEK = 7
_MAX_LASTS_MS = 366 * 86_400_000


class LendingMethods:
    """See the module's text; a part of the servicer of PoolService.

    Args:
        pump: the core.
        store: where policy and reclaims are.
        pages: seals page tokens.
        ids: names reclaims.
        kill_ms: the shortest deadline that a node can keep.
    """

    def __init__(self, pump: Pump, store: Store, pages: Pages, ids: IdSource, kill_ms: int) -> None:
        self._pump = pump
        self._store = store
        self._pages = pages
        self._ids = ids
        self._kill_ms = kill_ms

    async def GetLendingPolicy(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.GetLendingPolicyRequest, context: Context
    ) -> lending_pb2.Lending:
        """What the region lends."""
        del request, context
        return await self._policy()

    async def _policy(self) -> lending_pb2.Lending:
        body = await self._store.get(SHARD, LENDING, ONLY)
        return LENDING_PB.to_pb(_decode_lending(body) if body is not None else Lending())

    async def SetLendingPolicy(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.SetLendingPolicyRequest, context: Context
    ) -> lending_pb2.Lending:
        """Replace it."""
        del context
        check_request_id(request.request_id)
        check_reason(request.reason)
        if request.etag and not request.etag.isdecimal():
            raise invalid("etag", f"{request.etag[:40]!r} is no revision of the policy")
        policy = LENDING_PB.from_pb(request.policy, "policy")
        check_policy(policy)

        def make(ticket: int, digest: str) -> SetLending:
            return SetLending(
                ticket=ticket,
                policy=policy,
                revision=int(request.etag) if request.etag else -1,
                request_id=request.request_id,
                request_digest=digest,
            )

        answer = await self._ask(request, request.request_id, make)
        if isinstance(answer, Replayed):
            return await self._policy()
        assert isinstance(answer, Lending), f"a {type(answer).__name__} as answer"
        return LENDING_PB.to_pb(answer)

    async def CreateReclaim(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.CreateReclaimRequest, context: Context
    ) -> lending_pb2.Reclaim:
        """Take an amount back."""
        del context
        check_request_id(request.request_id)
        check_reason(request.reason)
        quantity = _QUANTITY.from_pb(request.quantity, "quantity")
        _check_quantity("quantity", quantity)
        if quantity == Quantity():
            raise invalid("quantity", "takes nothing back", remedy="Say how many devices, or cpu.")
        deadline_ms = request.deadline.ToMilliseconds()
        if deadline_ms < self._kill_ms:
            raise invalid(
                "deadline",
                f"{deadline_ms} ms is too short: ending a task may take {self._kill_ms} ms",
            )
        lasts_ms = request.lasts.ToMilliseconds()
        if not 0 <= lasts_ms <= _MAX_LASTS_MS:
            raise invalid("lasts", "is not between 0 and 366 days")
        name = f"reclaims/{self._ids.uuid7()}"

        def make(ticket: int, digest: str) -> CreateReclaim:
            return CreateReclaim(
                ticket=ticket,
                name=name,
                quantity=quantity,
                deadline_ms=deadline_ms,
                for_ms=lasts_ms,
                reason=request.reason,
                request_id=request.request_id,
                request_digest=digest,
            )

        return await self._reclaim(await self._ask(request, request.request_id, make))

    async def GetReclaim(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.GetReclaimRequest, context: Context
    ) -> lending_pb2.Reclaim:
        """One reclaim."""
        del context
        return await self._stored(request.name)

    async def _stored(self, name: str) -> lending_pb2.Reclaim:
        body = await self._store.get(SHARD, RECLAIM, name)
        if body is None:
            raise error(
                Reason.NOT_FOUND, f"There is no reclaim {name[:80]!r}.", remedy="List them."
            )
        return RECLAIM_PB.to_pb(_decode_reclaim(body))

    async def ListReclaims(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.ListReclaimsRequest, context: Context
    ) -> pb.ListReclaimsResponse:
        """All reclaims, the newest first."""
        del context
        size = page_size(request.page_size)
        before = self._pages.opened("reclaims", (), request.page_token)
        rows = await self._store.list_rows(
            RECLAIM, RECLAIMS, before=before, limit=size + 1, descending=True
        )
        more = rows[size - 1].ord if len(rows) > size else ""
        return pb.ListReclaimsResponse(
            reclaims=[RECLAIM_PB.to_pb(_decode_reclaim(row.body)) for row in rows[:size]],
            next_page_token=self._pages.sealed("reclaims", (), more),
        )

    async def CancelReclaim(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.CancelReclaimRequest, context: Context
    ) -> lending_pb2.Reclaim:
        """Lend the amount again."""
        del context
        check_request_id(request.request_id)
        standing = await self._stored(request.name)
        if standing.state == lending_pb2.RECLAIM_STATE_RETURNED:
            return standing

        def make(ticket: int, digest: str) -> ReturnReclaim:
            return ReturnReclaim(
                ticket=ticket,
                name=request.name,
                request_id=request.request_id,
                request_digest=digest,
            )

        return await self._reclaim(await self._ask(request, request.request_id, make))

    async def _reclaim(self, answer: object) -> lending_pb2.Reclaim:
        if isinstance(answer, Replayed):
            return await self._stored(answer.result)
        assert isinstance(answer, Reclaim), f"a {type(answer).__name__} as answer"
        return RECLAIM_PB.to_pb(answer)

    def _ask(
        self, request: Message, request_id: str, make: Callable[[int, str], object]
    ) -> Awaitable[object]:
        digest = request_digest(request)
        return self._pump.ask(lambda ticket: make(ticket, digest), (REQUESTS, request_id, digest))


def check_policy(policy: Lending) -> None:
    """Refuse a policy that cannot be meant, naming the field."""
    if not 0 <= policy.share <= WHOLE:
        raise invalid("policy.share", f"{policy.share} is not between 0 and {WHOLE} thousandths")
    _check_quantity("policy.floor", policy.floor)
    for name in ("models", "projects", "kinds", "data_classes"):
        words: tuple[str, ...] = getattr(policy, name)
        if len(words) > _MAX_LIST or any(not 0 < len(w) <= _MAX_WORD for w in words):
            raise invalid(f"policy.{name}", f"is not a list of up to {_MAX_LIST} names")
    for kind in policy.kinds:
        if kind not in tuple(Kind):
            raise invalid("policy.kinds", f"{kind!r} is none of {', '.join(Kind)}")
    _check_caps(policy.caps)
    for i, hours in enumerate(policy.hours):
        _check_hours(f"policy.hours[{i}]", hours)
    for name, value in (("longest_run", policy.longest_run), ("notice", policy.notice)):
        if not 0 <= value <= _MAX_LASTS_MS:
            raise invalid(f"policy.{name}", "is not between 0 and 366 days")


def _check_caps(caps: tuple[ProjectCap, ...]) -> None:
    seen: set[str] = set()
    for i, cap in enumerate(caps):
        if not PROJECT.fullmatch(cap.project):
            raise invalid(f"policy.caps[{i}].project", f"{cap.project[:80]!r} is no project")
        if cap.project in seen:
            raise invalid(f"policy.caps[{i}].project", f"{cap.project} has a cap already")
        seen.add(cap.project)
        _check_quantity(f"policy.caps[{i}].most", cap.most)


def _check_quantity(field: str, quantity: Quantity) -> None:
    for name in ("cpu", "memory", "devices"):
        if getattr(quantity, name) < 0:
            raise invalid(f"{field}.{name}", "must not be negative")


def _check_hours(field: str, hours: Hours) -> None:
    if not hours.days or any(not 0 <= day < _WEEK for day in hours.days):
        raise invalid(f"{field}.days", "must have days from 0 (Monday) to 6")
    for name in ("start_minute", "end_minute"):
        if not 0 <= getattr(hours, name) <= MINUTES_A_DAY:
            raise invalid(f"{field}.{name}", f"is not between 0 and {MINUTES_A_DAY}")
