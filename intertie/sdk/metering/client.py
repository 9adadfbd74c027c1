"""The federation's metering service as its readers use it: entries, checkpoints, receipts, bills.

Nothing that comes from here is believed: `pull` checks the log, `intertie.metering` the rest.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from intertie.api.metering.v1 import metering_service_pb2 as pb
from intertie.api.metering.v1.metering_service_pb2_grpc import MeteringServiceStub
from intertie.errors import Reason, error
from intertie.metering.grant import SignedGrant
from intertie.metering.verify import Hidden, Leaf
from intertie.sdk.connection import Connection

MAX_GRANTS = 1_000
"""Grants of one call."""


@dataclass(frozen=True, slots=True)
class SignedStatement:
    """A statement as canonical JSON, and the federation's DSSE envelope over it."""

    statement: bytes
    envelope: bytes


class MeteringClient:
    """Calls of MeteringService over a connection that somebody else closes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def checkpoints(self, origin: str = "") -> tuple[bytes, ...]:
        """The newest cosigned checkpoint of a log, or of each log that the caller may read."""
        request = pb.GetLogCheckpointRequest(origin=origin)
        answer = await self._unary("GetLogCheckpoint", request)
        return tuple(answer.notes)

    async def entries(self, origin: str, start: int, end: int) -> AsyncGenerator[list[Leaf], None]:
        """Entries [start, end) of a log in order; goes on after a broken connection.

        None if `start` is `end`: a reader that is up to date asks the server for nothing.

        Raises:
            IntertieError: OFFSET_MISMATCH if the server sends others than were asked for.
        """
        if start == end:
            return
        at = start

        async def reopen() -> AsyncGenerator[pb.PullEntriesResponse, None]:
            request = pb.PullEntriesRequest(origin=origin, start=at, end=end)
            opened = self._connection.stream(MeteringServiceStub, "PullEntries", request)
            async with aclosing(opened) as responses:
                async for response in responses:
                    yield response

        async with aclosing(self._connection.resumed(reopen)) as responses:
            async for response in responses:
                leaves = _leaves(response)
                if response.start != at or at + len(leaves) > end:
                    raise error(
                        Reason.OFFSET_MISMATCH,
                        f"{origin}: asked for entries from {at} to {end}, got {len(leaves)} from"
                        f" {response.start}.",
                        remedy="Pull again; if it stays so, the server is not to be trusted.",
                    )
                at += len(leaves)
                yield leaves
                if at == end:
                    return

    async def receipt(self, origin: str, seq: int) -> bytes:
        """The receipt of one record (C2SP tlog-proof)."""
        answer = await self._unary("GetReceipt", pb.GetReceiptRequest(origin=origin, seq=seq))
        return bytes(answer.receipt)

    async def trust_file(self) -> bytes:
        """The federation's trust file (C2SP tlog-policy); compare its fingerprints elsewhere."""
        answer = await self._unary("GetTrustFile", pb.GetTrustFileRequest())
        return bytes(answer.trust)

    async def grant_keys(self) -> bytes:
        """The keys that sign grants and statements, as a file; compare its fingerprints too."""
        answer = await self._unary("GetTrustFile", pb.GetTrustFileRequest())
        return bytes(answer.grant_keys)

    async def grants(self, digests: Sequence[str]) -> list[SignedGrant]:
        """Those of these grants that there are, at most 1,000 at once; not verified yet."""
        assert len(digests) <= MAX_GRANTS, f"{len(digests)} grants in one call"
        answer = await self._unary("GetGrants", pb.GetGrantsRequest(sha256=digests))
        return [
            SignedGrant(
                bytes(g.grant), g.index, tuple(bytes(p) for p in g.proof), bytes(g.envelope)
            )
            for g in answer.grants
        ]

    async def statement(
        self, payer: str = "", *, start_ms: int = 0, end_ms: int = 0
    ) -> SignedStatement:
        """What a payer owes for [start_ms, end_ms) UTC; empty payer = the caller's, 0 = unbound."""
        request = pb.GetStatementRequest(payer=payer, start_ms=start_ms, end_ms=end_ms)
        answer = await self._unary("GetStatement", request)
        return SignedStatement(bytes(answer.statement), bytes(answer.envelope))

    async def _unary(self, method: str, request: object) -> Any:  # noqa: ANN401 - the method's answer
        return await self._connection.unary(MeteringServiceStub, method, request)


def _leaves(response: pb.PullEntriesResponse) -> list[Leaf]:
    hashes = response.hashes or [b""] * len(response.entries)
    return [
        Hidden(digest) if digest else entry
        for entry, digest in zip(response.entries, hashes, strict=True)
    ]
