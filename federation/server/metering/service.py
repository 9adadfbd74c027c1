"""MeteringService: the mirror for readers, the witness for regions, statements for payers."""

from collections.abc import AsyncIterator, Sequence

from federation.domain.payers import project_refusal
from federation.server.metering.grants import Grants
from federation.server.metering.logs import MeteringLogs, Origins, visible
from federation.server.metering.statement_text import PAYLOAD_TYPE
from federation.server.metering.statements import Statements
from intertie.api.metering.v1 import metering_service_pb2 as pb
from intertie.api.metering.v1 import metering_service_pb2_grpc as pb_grpc
from intertie.errors import IntertieError, Reason, error, invalid
from intertie.metering.dsse import StatementSigner
from intertie.metering.faults import MeteringError
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import leaf_hash
from intertie.metering.log.note import Key, Note
from intertie.metering.log.tiles import MAX_ENTRY
from intertie.metering.log.trust import Trust, print_trust
from intertie.metering.log.witness import parse_request
from intertie.model.names import PROJECT
from intertie.pki.identity import Identity
from intertie.pki.spiffe import Role
from intertie.transport.call import Context, caller

# ruff: noqa: N802, ARG002 - methods are named by the protocol, and gRPC passes a context to each

MAX_PUSH = 10_000
MAX_MESSAGE_BYTES = 1 << 20
"""Entries of one message of a pull; with overhead well below what gRPC lets through."""

WITNESS = "federation"
"""The name of our witness in the trust file."""


class MeteringServicer(pb_grpc.MeteringServiceServicer):
    """See the protocol for what each method does.

    Args:
        logs: the mirror.
        origins: which logs there are, and who may touch them.
        statements: makes statements.
        grants: finds grants.
        signer: signs statements.
        witness: the public key that cosigns.
    """

    def __init__(
        self,
        logs: MeteringLogs,
        origins: Origins,
        statements: Statements,
        grants: Grants,
        signer: StatementSigner,
        witness: Key,
    ) -> None:
        self._logs = logs
        self._origins = origins
        self._statements = statements
        self._grants = grants
        self._signer = signer
        self._witness = witness

    # --- readers ---------------------------------------------------------------------------------

    async def PullEntries(
        self, request: pb.PullEntriesRequest, context: Context
    ) -> AsyncIterator[pb.PullEntriesResponse]:
        who = caller()
        if request.start < 0 or request.end < 0:
            raise invalid("start" if request.start < 0 else "end", "must not be negative")
        for origin in self._origins.readable(request.origin, who):
            size = (await self._logs.head(origin)).published_size
            end = min(request.end or size, size)
            async for start, leaves in self._logs.entries(origin, request.start, end):
                for response in _responses(origin, start, leaves, who):
                    yield response

    async def GetLogCheckpoint(
        self, request: pb.GetLogCheckpointRequest, context: Context
    ) -> pb.GetLogCheckpointResponse:
        origins = self._origins.readable(request.origin, caller())
        notes = [(await self._logs.head(origin)).published for origin in origins]
        return pb.GetLogCheckpointResponse(notes=[note for note in notes if note])

    async def GetReceipt(
        self, request: pb.GetReceiptRequest, context: Context
    ) -> pb.GetReceiptResponse:
        who = caller()
        self._origins.check_may_read(request.origin, who)
        receipt = await self._logs.receipt(request.origin, request.seq)
        assert receipt.record is not None, "the mirror's receipts hold their record"
        if not visible(receipt.record, who):
            raise error(
                Reason.PERMISSION_DENIED,
                f"Record {request.seq} of {request.origin} is another payer's.",
                remedy="Ask for records of your own project.",
            )
        return pb.GetReceiptResponse(receipt=receipt.encode())

    async def GetTrustFile(
        self, request: pb.GetTrustFileRequest, context: Context
    ) -> pb.GetTrustFileResponse:
        logs = [key for origin in self._origins.known() for key in self._origins.keys(origin)]
        trust = Trust(logs=tuple(logs), witnesses={WITNESS: self._witness}, quorum=WITNESS)
        return pb.GetTrustFileResponse(
            trust=print_trust(trust, fingerprints=True).encode(),
            grant_keys=self._grants.keys_file(self._origins.trust_domain),
        )

    async def GetGrants(
        self, request: pb.GetGrantsRequest, context: Context
    ) -> pb.GetGrantsResponse:
        signed = await self._grants.signed(list(request.sha256), caller())
        return pb.GetGrantsResponse(
            grants=[
                pb.SignedGrant(grant=g.grant, index=g.index, proof=g.proof, envelope=g.envelope)
                for g in signed
            ]
        )

    async def GetStatement(
        self, request: pb.GetStatementRequest, context: Context
    ) -> pb.GetStatementResponse:
        payer = _payer(request.payer, caller(), self._origins)
        if request.start_ms < 0 or request.end_ms < 0:
            raise invalid("start_ms" if request.start_ms < 0 else "end_ms", "is negative")
        statement = await self._statements.make(payer, request.start_ms, request.end_ms)
        envelope = self._signer.sign(PAYLOAD_TYPE, statement)
        return pb.GetStatementResponse(statement=statement, envelope=envelope)

    # --- regions ---------------------------------------------------------------------------------

    async def GetWitnessed(
        self, request: pb.GetWitnessedRequest, context: Context
    ) -> pb.GetWitnessedResponse:
        self._origins.check_own(request.origin, caller())
        head = await self._logs.head(request.origin)
        return pb.GetWitnessedResponse(note=head.witnessed, mirrored_size=head.mirrored)

    async def AddLogCheckpoint(
        self, request: pb.AddLogCheckpointRequest, context: Context
    ) -> pb.AddLogCheckpointResponse:
        origin = _origin_of(request.body)
        if origin:
            self._origins.check_own(origin, caller())
        decision = await self._logs.add_checkpoint(request.body)
        return pb.AddLogCheckpointResponse(
            status=decision.status, content_type=decision.content_type, body=decision.body
        )

    async def PushEntries(
        self, request: pb.PushEntriesRequest, context: Context
    ) -> pb.PushEntriesResponse:
        self._origins.check_own(request.origin, caller())
        self._origins.check_may_read(request.origin, caller())
        if len(request.entries) > MAX_PUSH:
            raise _too_large(f"entries: {len(request.entries)}; the limit is {MAX_PUSH}")
        if any(len(entry) > MAX_ENTRY for entry in request.entries):
            raise _too_large(f"entries: one has over {MAX_ENTRY} bytes")
        size = await self._logs.push(request.origin, request.start, list(request.entries))
        return pb.PushEntriesResponse(mirrored_size=size)


def _responses(
    origin: str, start: int, leaves: Sequence[bytes], who: Identity
) -> list[pb.PullEntriesResponse]:
    """The messages for one piece: entries that may be seen, hashes of the others."""
    made: list[pb.PullEntriesResponse] = []
    size = MAX_MESSAGE_BYTES + 1
    for seq, leaf in enumerate(leaves, start):
        if size + len(leaf) > MAX_MESSAGE_BYTES:
            made.append(pb.PullEntriesResponse(origin=origin, start=seq))
            size = 0
        size += len(leaf)
        shown = visible(leaf, who)
        made[-1].entries.append(leaf if shown else b"")
        made[-1].hashes.append(b"" if shown else leaf_hash(leaf))
    return made


def _payer(named: str, who: Identity, origins: Origins) -> str:
    if who.role is Role.PROJECT:
        assert who.project is not None, "a project identity names its project"
        if named and named != who.project:
            raise error(
                Reason.PERMISSION_DENIED,
                f"{who} may not read the statement of {named[:80]}.",
                remedy="Leave the payer out.",
            )
        confused = project_refusal(who.project, origins.regions)
        if confused is not None:
            raise confused
        return who.project
    if not PROJECT.fullmatch(named):
        raise invalid("payer", "must be given")
    return named


def _origin_of(body: bytes) -> str:
    try:
        return Checkpoint.parse(Note.parse(parse_request(body).signed).text).origin
    except (MeteringError, UnicodeDecodeError):
        return ""  # the witness answers 400


def _too_large(what: str) -> IntertieError:
    return error(Reason.TOO_LARGE, f"{what}.", remedy="Send less at once.")
