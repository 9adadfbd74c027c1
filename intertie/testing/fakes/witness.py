"""A witness and mirror over MeteringService, with a queue of faults: the pure decision of
`intertie.metering.log.witness` over dictionaries.

Serves what a region needs of the federation's metering: GetWitnessed, PushEntries,
AddLogCheckpoint, PullEntries. Faults are answers given instead of the real one.
"""

from collections import deque
from collections.abc import AsyncIterator

from intertie.api.metering.v1 import metering_service_pb2 as pb
from intertie.api.metering.v1 import metering_service_pb2_grpc as pb_grpc
from intertie.errors import Reason, error
from intertie.metering.log.note import ED25519_COSIGNATURE, Key, Signer
from intertie.metering.log.witness import WitnessState, decide
from intertie.ports import Clock
from intertie.transport.call import Context

PIECE = 500


class FakeWitness(pb_grpc.MeteringServiceServicer):
    """See the module's text.

    Args:
        name: of the witness key.
        clock: for cosignatures.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self.signer = Signer.from_seed(name, bytes(range(32)), ED25519_COSIGNATURE)
        self.states: dict[str, WitnessState] = {}
        self.logs: dict[str, list[Key]] = {}
        self.mirror: dict[str, list[bytes]] = {}
        self.faults: deque[pb.AddLogCheckpointResponse] = deque()
        self.asked = 0
        self.is_away = False
        self._clock = clock

    def size(self, origin: str) -> int:
        """How much of a log is cosigned."""
        return self.states.get(origin, WitnessState()).size

    def _check(self) -> None:
        if self.is_away:
            raise error(Reason.STORE_UNAVAILABLE, "The witness is away.")

    async def GetWitnessed(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.GetWitnessedRequest, context: Context
    ) -> pb.GetWitnessedResponse:
        """What was cosigned last."""
        del context
        self._check()
        state = self.states.get(request.origin, WitnessState())
        mirrored = len(self.mirror.get(request.origin, []))
        return pb.GetWitnessedResponse(note=state.signed, mirrored_size=mirrored)

    async def PushEntries(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.PushEntriesRequest, context: Context
    ) -> pb.PushEntriesResponse:
        """Mirror entries; what is there stays."""
        del context
        self._check()
        entries = self.mirror.setdefault(request.origin, [])
        if request.start > len(entries):
            raise error(Reason.OFFSET_MISMATCH, f"The mirror has {len(entries)} entries.")
        entries += request.entries[len(entries) - request.start :]
        return pb.PushEntriesResponse(mirrored_size=len(entries))

    async def AddLogCheckpoint(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.AddLogCheckpointRequest, context: Context
    ) -> pb.AddLogCheckpointResponse:
        """Cosign, unless a fault is queued."""
        del context
        self._check()
        self.asked += 1
        if self.faults:
            return self.faults.popleft()
        now_s = self._clock.now().utc_ms // 1000
        answer = decide(self.states, self.logs, request.body, witness=self.signer, time_s=now_s)
        for origin in self.logs:
            if answer.status in (200, 409) and f"\n\n{origin}\n".encode() in request.body:
                self.states[origin] = answer.state
        return pb.AddLogCheckpointResponse(
            status=answer.status, content_type=answer.content_type, body=answer.body
        )

    async def PullEntries(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.PullEntriesRequest, context: Context
    ) -> AsyncIterator[pb.PullEntriesResponse]:
        """Entries of the mirror."""
        del context
        entries = self.mirror.get(request.origin, [])
        end = request.end or len(entries)
        for start in range(request.start, end, PIECE):
            yield pb.PullEntriesResponse(
                origin=request.origin, start=start, entries=entries[start : min(start + PIECE, end)]
            )
