"""The calls to the federation's MeteringService: what it has witnessed, mirror, cosign.

Turns answers into values and what is wrong into typed errors. Must not decide what follows.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import grpc.aio

from intertie.api.metering.v1 import metering_service_pb2 as pb
from intertie.api.metering.v1.metering_service_pb2_grpc import MeteringServiceStub
from intertie.errors import Reason, error
from intertie.metering.faults import MeteringError
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.note import Key, Note
from intertie.ports import Clock
from intertie.transport.client import clock_metadata
from intertie.transport.failure import error_from_rpc

PULL_S = 600.0
CALL_S = 20.0


@dataclass(frozen=True, slots=True)
class Witnessed:
    """What the witness knows of our log."""

    head: Checkpoint | None
    mirrored: int


@dataclass(frozen=True, slots=True)
class Answer:
    """An add-checkpoint answer."""

    status: int
    content_type: str
    body: bytes


class WitnessClient:
    """See the module's text.

    Args:
        stub: made for each use, so that it follows certificates.
        clock: told to the server with streams.
        origin: of our log.
        log_key: our own log key.
        witnesses: keys of which one must have cosigned.
    """

    def __init__(
        self,
        stub: Callable[[], MeteringServiceStub],
        clock: Clock,
        origin: str,
        log_key: Key,
        witnesses: Sequence[Key],
    ) -> None:
        self._stub = stub
        self._clock = clock
        self._origin = origin
        self._log_key = log_key
        self._witnesses = tuple(witnesses)

    async def witnessed(self) -> Witnessed:
        """What was cosigned last, verified with our own log key and the witness's.

        Raises:
            IntertieError: LOG_FORK if the note is not ours; or the call's own fault.
        """
        try:
            response = await self._stub().GetWitnessed(
                pb.GetWitnessedRequest(origin=self._origin), timeout=CALL_S
            )
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure
        if not response.note:
            return Witnessed(None, response.mirrored_size)
        return Witnessed(self._verified(response.note), response.mirrored_size)

    def _verified(self, signed: bytes) -> Checkpoint:
        try:
            note = Note.parse(signed)
            head = Checkpoint.parse(note.text)
            good = note.verified([self._log_key]) and note.verified(self._witnesses)
        except MeteringError as fault:
            raise _not_ours(self._origin, fault.message) from fault
        if not good or head.origin != self._origin:
            raise _not_ours(self._origin, "it lacks our signature or the witness's")
        return head

    def is_cosigned(self, signed: bytes) -> bool:
        """Whether a note bears a valid signature of ours and a cosignature that we believe."""
        try:
            note = Note.parse(signed)
            return bool(note.verified([self._log_key]) and note.verified(self._witnesses))
        except MeteringError:
            return False

    async def push(self, start: int, entries: Sequence[bytes]) -> int:
        """Add entries to the mirror; returns how many it has."""
        request = pb.PushEntriesRequest(origin=self._origin, start=start, entries=entries)
        try:
            response = await self._stub().PushEntries(request, timeout=CALL_S)
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure
        return int(response.mirrored_size)

    async def cosign(self, body: bytes) -> Answer:
        """The add-checkpoint call."""
        try:
            response = await self._stub().AddLogCheckpoint(
                pb.AddLogCheckpointRequest(body=body), timeout=CALL_S
            )
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure
        return Answer(response.status, response.content_type, response.body)

    async def pull(self, start: int, end: int) -> AsyncIterator[list[bytes]]:
        """Our own entries [start, end) from the mirror, in order, in pieces.

        Raises:
            IntertieError: LOG_FORK if the mirror leaves a gap or ends early.
        """
        call = self._stub().PullEntries(
            pb.PullEntriesRequest(origin=self._origin, start=start, end=end),
            timeout=PULL_S,
            metadata=clock_metadata(self._clock),
        )
        at = start
        try:
            async for response in call:
                if response.start != at or not response.entries:
                    raise _not_ours(self._origin, f"the mirror has no entry {at}")
                at += len(response.entries)
                yield list(response.entries)
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure
        if at != end:
            raise error(
                Reason.UNREACHABLE,
                f"{self._origin}: the mirror gave {at - start} of {end - start} entries.",
                remedy="Restore the federation's mirror; nothing is signed until then.",
            )


def _not_ours(origin: str, what: str) -> Exception:
    return error(
        Reason.LOG_FORK,
        f"{origin}: what the federation shows of our log is not ours: {what}.",
        remedy="Do not sign. Compare the log key and the mirror with the federation's operator.",
        metadata={"origin": origin},
    )
