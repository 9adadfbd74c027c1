"""RegionService, what administrators do: join requests here, states and drains beside it."""

from federation.domain.region_record import RegionRecord
from federation.domain.states import ChangeRegion
from federation.server.enrollment.approvals import Approvals
from federation.server.enrollment.office import Office
from federation.server.enrollment.service import check_reason
from federation.server.region.region_service import RegionServicer
from federation.server.task.lists import page_size
from federation.server.task.reads import Tasks
from intertie.api.federation.v1 import join_pb2
from intertie.api.federation.v1 import region_service_pb2 as pb
from intertie.errors import invalid
from intertie.model import names
from intertie.model.states import RegionState
from intertie.pki.join.requests import JoinState
from intertie.ports import Clock
from intertie.store.pump import Pump
from intertie.telemetry.logs import logger
from intertie.transport.call import Context, caller
from intertie.wire.join import request_to_pb
from intertie.wire.tokens import Tokens

# ruff: noqa: N802, ARG002 - methods are named by the protocol, and gRPC passes a context to each

_log = logger(__name__)


class RegionAdminServicer(RegionServicer):
    """See the protocol for what each method does."""

    def __init__(
        self,
        pump: Pump,
        tasks: Tasks,
        tokens: Tokens,
        clock: Clock,
        office: Office,
        approvals: Approvals,
    ) -> None:
        super().__init__(pump, tasks, tokens, clock)
        self._office = office
        self._approvals = approvals
        self._pages = tokens
        self._core = pump

    async def ListJoinRequests(
        self, request: pb.ListJoinRequestsRequest, context: Context
    ) -> pb.ListJoinRequestsResponse:
        size, bound = page_size(request.page_size, 100), (str(request.show_decided),)
        skip = 0
        if request.page_token:
            skip = int(self._pages.open("joins", bound, request.page_token, "page_token"))
        found = [
            asked
            for asked in await self._office.registry.requests()
            if request.show_decided or asked.state is JoinState.REQUESTED
        ][skip:]
        more = str(skip + size).encode() if len(found) > size else b""
        return pb.ListJoinRequestsResponse(
            joins=[request_to_pb(asked) for asked in found[:size]],
            next_page_token=self._pages.seal("joins", bound, more) if more else "",
        )

    async def ApproveJoinRequest(
        self, request: pb.ApproveJoinRequestRequest, context: Context
    ) -> join_pb2.Join:
        id_ = _join_id(request.name)
        reason = request.reason or "approved"
        return request_to_pb(await self._approvals.approve(id_, str(caller()), reason))

    async def RejectJoinRequest(
        self, request: pb.RejectJoinRequestRequest, context: Context
    ) -> join_pb2.Join:
        id_, reason = _join_id(request.name), check_reason(request.reason)
        return request_to_pb(await self._approvals.reject(id_, str(caller()), reason))

    # --- states ----------------------------------------------------------------------------------

    async def CordonRegion(self, request: pb.CordonRegionRequest, context: Context) -> pb.Region:
        return await self._decide(request.name, RegionState.CORDONED, request.reason)

    async def UncordonRegion(
        self, request: pb.UncordonRegionRequest, context: Context
    ) -> pb.Region:
        return await self._decide(request.name, RegionState.ACTIVE, request.reason)

    async def RemoveRegion(self, request: pb.RemoveRegionRequest, context: Context) -> pb.Region:
        return await self._decide(request.name, RegionState.REMOVED, request.reason)

    async def _decide(self, name: str, to: RegionState, reason: str) -> pb.Region:
        region, actor = parse_region(name), str(caller())
        check_reason(reason)

        def make(ticket: int) -> ChangeRegion:
            return ChangeRegion(ticket=ticket, region=region, to=to, reason=reason, actor=actor)

        record = await self._core.ask(make)
        assert isinstance(record, RegionRecord), "a decision is answered by the record"
        _log.warning("region decided", region=region, state=to, by=actor, reason=reason)
        return self._shown(record)

    def _shown(self, record: RegionRecord) -> pb.Region:
        message = super()._shown(record)
        message.state_reason, message.state_actor = record.state_reason, record.state_actor
        return message


def parse_region(name: str) -> str:
    """The id in `regions/{id}`. Raises INVALID_FIELD."""
    collection, _, id_ = name.partition("/")
    if collection != "regions" or not names.REGION.fullmatch(id_):
        raise invalid("name", f"{name[:120]!r} is not regions/ID.")
    return id_


def _join_id(name: str) -> str:
    collection, _, id_ = name.partition("/")
    if collection != "joins" or not id_ or "/" in id_:
        raise invalid("name", f"{name[:120]!r} is not joins/ID.")
    return id_
