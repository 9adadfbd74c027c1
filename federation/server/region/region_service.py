"""RegionService: the regions as this replica knows and sees them. Reads only."""

from federation.domain.core import REGION
from federation.domain.region_record import RegionRecord
from federation.server.region.distances import Distances
from federation.server.task.lists import page_size
from federation.server.task.reads import Tasks
from intertie.api.federation.v1 import region_service_pb2 as pb
from intertie.api.federation.v1 import region_service_pb2_grpc as pb_grpc
from intertie.errors import IntertieError, Reason, error, invalid
from intertie.latency import Measurement
from intertie.model import names
from intertie.model.states import Reachability, RegionState
from intertie.ports import Clock
from intertie.store.pump import Pump
from intertie.transport.call import Context
from intertie.wire.pool import summary_to_pb
from intertie.wire.scalars import fill_timestamp
from intertie.wire.tokens import Tokens

# ruff: noqa: N802, ARG002 - methods are named by the protocol, and gRPC passes a context to each

_MS = 1_000_000


class RegionServicer(pb_grpc.RegionServiceServicer):
    """See the protocol for what each method does."""

    def __init__(
        self, pump: Pump, tasks: Tasks, tokens: Tokens, clock: Clock, distances: Distances
    ) -> None:
        self._pump = pump
        self._tasks = tasks
        self._tokens = tokens
        self._clock = clock
        self._distances = distances

    async def GetRegion(self, request: pb.GetRegionRequest, context: Context) -> pb.Region:
        collection, _, id_ = request.name.partition("/")
        if collection != "regions" or not names.REGION.fullmatch(id_):
            raise invalid("name", f"{request.name[:120]!r} is not regions/ID")
        record = self._pump.drive.view.get(REGION, id_)
        if not isinstance(record, RegionRecord):
            raise _not_found(request.name)
        return self._shown(record)

    async def ListRegions(
        self, request: pb.ListRegionsRequest, context: Context
    ) -> pb.ListRegionsResponse:
        size = page_size(request.page_size, 100)
        after = ""
        if request.page_token:
            after = self._tokens.open("regions", (), request.page_token, "page_token").decode()
        known = sorted(
            (r for r in self._pump.drive.view.values(REGION) if isinstance(r, RegionRecord)),
            key=lambda record: record.id,
        )
        left = [record for record in known if record.id > after]
        more = left[size - 1].id if len(left) > size else ""
        return pb.ListRegionsResponse(
            regions=[self._shown(record) for record in left[:size]],
            next_page_token=self._tokens.seal("regions", (), more.encode()) if more else "",
        )

    async def ListRtts(self, request: pb.ListRttsRequest, context: Context) -> pb.ListRttsResponse:
        size = page_size(request.page_size, 1_000)
        after = ("", "")
        if request.page_token:
            origin, _, region = (
                self._tokens.open("rtts", (), request.page_token, "page_token").decode()
            ).partition("/")
            after = (origin, region)
        known = [r for r in self._pump.drive.view.values(REGION) if isinstance(r, RegionRecord)]
        members = [r.id for r in known if r.state not in (RegionState.LEFT, RegionState.REMOVED)]
        left = [pair for pair in self._distances.pairs(members) if pair[:2] > after]
        page = left[:size]
        more = "/".join(page[-1][:2]) if len(left) > size else ""
        return pb.ListRttsResponse(
            rtts=[self._rtt(*pair) for pair in page],
            next_page_token=self._tokens.seal("rtts", (), more.encode()) if more else "",
            revision=self._distances.revision,
        )

    def _rtt(self, origin: str, region: str, found: Measurement | None) -> pb.Rtt:
        if found is None:
            return pb.Rtt(origin=origin, region=region)
        return pb.Rtt(
            origin=origin,
            region=region,
            measured=True,
            p50_us=found.stats.p50_us,
            p95_us=found.stats.p95_us,
            samples=found.stats.samples,
            lost=found.stats.lost,
            age_ms=found.age_ms(self._clock.now().boot_ns),
        )

    def _shown(self, record: RegionRecord) -> pb.Region:
        core, now = self._tasks.core, self._clock.now()
        member = core.fleet.members.get(record.id)
        reachability = member.reachability if member is not None else Reachability.UNKNOWN
        seen_ms = record.seen_ms
        message = pb.Region(
            name=f"regions/{record.id}",
            state=f"REGION_STATE_{record.state.name}",
            reachability=f"REACHABILITY_{reachability.name}",
            jurisdiction=record.jurisdiction,
            software=record.software,
            assigned_runs=len(core.at_region.get(record.id, ())),
        )
        if member is not None:
            seen_ms = now.utc_ms - (now.boot_ns - member.heard_ns) // _MS
            if member.summary is not None:
                message.summary.CopyFrom(summary_to_pb(member.summary))
        fill_timestamp(seen_ms, message.seen_time)
        return message


def _not_found(name: str) -> IntertieError:
    return error(
        Reason.NOT_FOUND,
        f"There is no {name}.",
        remedy="List what there is (intertie region list).",
        metadata={"resource": name},
    )
