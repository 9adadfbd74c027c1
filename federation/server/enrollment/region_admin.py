"""RegionService, what administrators do: join requests here, states and drains beside it."""

from uuid import UUID

from federation.domain.drains import (
    DRAIN,
    CancelDrain,
    CreateDrain,
    Drain,
    DrainState,
    newest_first,
)
from federation.domain.region_record import RegionRecord
from federation.domain.states import ChangeRegion
from federation.server.enrollment.approvals import Approvals
from federation.server.enrollment.office import Office
from federation.server.enrollment.service import check_reason
from federation.server.region.distances import Distances
from federation.server.region.region_service import RegionServicer
from federation.server.task.lists import page_size
from federation.server.task.reads import Tasks
from intertie.api.federation.v1 import join_pb2
from intertie.api.federation.v1 import region_service_pb2 as pb
from intertie.errors import IntertieError, Reason, error, invalid
from intertie.model import names
from intertie.model.states import RegionState
from intertie.pki.join.requests import JoinState
from intertie.ports import Clock
from intertie.store.pump import Pump
from intertie.telemetry.logs import logger
from intertie.transport.call import Context, caller
from intertie.wire.join import request_to_pb
from intertie.wire.scalars import FaultError, fill_timestamp, ms_of_duration
from intertie.wire.tokens import Tokens

# ruff: noqa: N802, ARG002 - methods are named by the protocol, and gRPC passes a context to each

MAX_DRAIN_ID = 64

_log = logger(__name__)


class RegionAdminServicer(RegionServicer):
    """See the protocol for what each method does."""

    def __init__(
        self,
        pump: Pump,
        tasks: Tasks,
        tokens: Tokens,
        clock: Clock,
        distances: Distances,
        office: Office,
        approvals: Approvals,
    ) -> None:
        super().__init__(pump, tasks, tokens, clock, distances)
        self._office = office
        self._approvals = approvals
        self._pages = tokens
        self._core = pump
        self._cores = tasks

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

    # --- drains ----------------------------------------------------------------------------------

    async def CreateDrain(self, request: pb.CreateDrainRequest, context: Context) -> pb.Drain:
        region, actor = parse_region(request.parent, "parent"), str(caller())
        reason, wait_ms = check_reason(request.reason), _wait_ms(request)
        id_ = drain_id(request.request_id)

        def make(ticket: int) -> CreateDrain:
            return CreateDrain(
                ticket=ticket,
                region=region,
                id=id_,
                reason=reason,
                actor=actor,
                wait_ms=wait_ms,
                leave=request.leave,
            )

        drain = await self._core.ask(make)
        assert isinstance(drain, Drain), "a drain is answered by itself"
        _log.warning("drain begun", region=region, id=id_, by=actor, reason=reason)
        return self._drain(drain)

    async def GetDrain(self, request: pb.GetDrainRequest, context: Context) -> pb.Drain:
        region, id_ = parse_drain(request.name)
        drain = self._core.drive.view.get(DRAIN, f"{region}/{id_}")
        if not isinstance(drain, Drain):
            raise not_found(request.name)
        return self._drain(drain)

    async def ListDrains(
        self, request: pb.ListDrainsRequest, context: Context
    ) -> pb.ListDrainsResponse:
        region = parse_region(request.parent, "parent")
        size, skip = page_size(request.page_size, 100), 0
        if request.page_token:
            skip = int(self._pages.open("drains", (region,), request.page_token, "page_token"))
        known = (d for d in self._core.drive.view.values(DRAIN) if isinstance(d, Drain))
        found = newest_first(d for d in known if d.region == region)[skip:]
        more = str(skip + size).encode() if len(found) > size else b""
        return pb.ListDrainsResponse(
            drains=[self._drain(drain) for drain in found[:size]],
            next_page_token=self._pages.seal("drains", (region,), more) if more else "",
        )

    async def CancelDrain(self, request: pb.CancelDrainRequest, context: Context) -> pb.Drain:
        region, id_ = parse_drain(request.name)
        reason, actor = check_reason(request.reason), str(caller())

        def make(ticket: int) -> CancelDrain:
            return CancelDrain(ticket=ticket, region=region, id=id_, reason=reason, actor=actor)

        drain = await self._core.ask(make)
        assert isinstance(drain, Drain), "a drain is answered by itself"
        _log.warning("drain cancelled", region=region, id=id_, by=actor, reason=reason)
        return self._drain(drain)

    def _drain(self, drain: Drain) -> pb.Drain:
        core = self._cores.core
        is_running = drain.state is DrainState.RUNNING
        message = pb.Drain(
            name=f"regions/{drain.region}/drains/{drain.id}",
            state=f"DRAIN_STATE_{drain.state.name}",
            guests=drain.guests,
            guests_left=len(core.at_region.get(drain.region, ())) if is_running else 0,
            guests_waited_for=core.states.drains.waited_for(drain) if is_running else 0,
            leave=drain.leave,
            reason=drain.reason,
            creator=drain.creator,
        )
        fill_timestamp(drain.created_ms, message.create_time)
        if drain.deadline_ms:
            fill_timestamp(drain.deadline_ms, message.deadline)
        if drain.ended_ms:
            fill_timestamp(drain.ended_ms, message.end_time)
        return message

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


def parse_region(name: str, where: str = "name") -> str:
    """The id in `regions/{id}`. Raises INVALID_FIELD."""
    collection, _, id_ = name.partition("/")
    if collection != "regions" or not names.REGION.fullmatch(id_):
        raise invalid(where, f"{name[:120]!r} is not regions/ID.")
    return id_


def parse_drain(name: str) -> tuple[str, str]:
    """Region and id in `regions/{region}/drains/{id}`. Raises INVALID_FIELD."""
    region, _, id_ = name.partition("/drains/")
    if not id_ or "/" in id_ or len(id_) > MAX_DRAIN_ID:
        raise invalid("name", f"{name[:120]!r} is not regions/ID/drains/ID.")
    return parse_region(region), id_


def drain_id(request_id: str) -> str:
    """The id of the drain that a request begins: the same for its repetition."""
    try:
        return str(UUID(request_id))
    except ValueError:
        raise invalid("request_id", f"{request_id[:60]!r} is not a UUID.") from None


def not_found(name: str) -> IntertieError:
    """NOT_FOUND for a drain."""
    return error(
        Reason.NOT_FOUND,
        f"There is no {name}.",
        remedy="List them (intertie region drains).",
        metadata={"resource": name},
    )


def _wait_ms(request: pb.CreateDrainRequest) -> int:
    try:
        return ms_of_duration(request.deadline)
    except FaultError as fault:
        raise invalid("deadline", fault.text) from None


def _join_id(name: str) -> str:
    collection, _, id_ = name.partition("/")
    if collection != "joins" or not id_ or "/" in id_:
        raise invalid("name", f"{name[:120]!r} is not joins/ID.")
    return id_
