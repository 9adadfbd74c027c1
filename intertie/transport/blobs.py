"""BlobService over one blob root: the same servicer in the federation and in each region.

Uploads of different identities are apart until they are finished. Whether a caller may know of a
blob is the service's to say (`BlobRights`): to whom it may not, the blob is not there. A region may
fetch what it lacks from the federation through `missing`. Who may call at all is the authorization
table's business.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Container, Sequence
from typing import Protocol

from intertie.api.federation.v1 import blob_service_pb2 as pb
from intertie.api.federation.v1 import blob_service_pb2_grpc as pb_grpc
from intertie.errors import Reason, error, invalid
from intertie.pki.identity import Identity
from intertie.store.blob_root import no_blob
from intertie.store.blobs import BlobStore, Upload, check_digests
from intertie.transport.call import Context, caller

MAX_STATS = 1_000

Missing = Callable[[str], Awaitable[None]]
"""Brings a blob of this digest into the store, or raises why it cannot."""


class BlobRights(Protocol):
    """Who may know of which blobs."""

    async def known(self, who: Identity, digests: Sequence[str]) -> Container[str]:
        """Those of the digests that a caller may know of; they are kept for a while for it."""
        ...

    async def uploaded(self, who: Identity, sha256: str, size: int) -> None:
        """A caller has shown that it has the bytes; durable when this returns."""
        ...


class SharedBlobs:
    """All callers know of all blobs: they work for one owner (the nodes of a region)."""

    async def known(self, who: Identity, digests: Sequence[str]) -> Container[str]:
        """All."""
        del who
        return digests

    async def uploaded(self, who: Identity, sha256: str, size: int) -> None:
        """Nothing is kept of it."""


class BlobServicer(pb_grpc.BlobServiceServicer):
    """See the module's text.

    Args:
        store: the blob root.
        missing: asked once for a blob that ReadBlob does not find; None = it stays missing.
        rights: who may know of which blobs; all of all if absent.
    """

    def __init__(
        self, store: BlobStore, missing: Missing | None = None, rights: BlobRights | None = None
    ) -> None:
        self._store = store
        self._missing = missing
        self._rights = rights if rights is not None else SharedBlobs()

    async def UploadBlob(  # noqa: N802 - the name of the method in the protocol
        self, request_iterator: AsyncIterator[pb.UploadBlobRequest], context: Context
    ) -> pb.UploadBlobResponse:
        """Take the chunks of one blob; what has come stays if the stream breaks."""
        del context
        upload: Upload | None = None
        async for chunk in request_iterator:
            if upload is None:
                upload = await self._begin(chunk)
                if upload.offset == upload.size and chunk.offset < upload.size:
                    break  # it is there already, or all of its bytes are
            if chunk.data:
                await upload.append(chunk.offset, chunk.data)
        if upload is None:
            raise invalid("sha256", "the first chunk must name the blob; none came")
        sha256, size = upload.sha256, upload.size
        await upload.finish(lambda: self._rights.uploaded(caller(), sha256, size))
        return pb.UploadBlobResponse(sha256=sha256, size_bytes=size)

    async def _begin(self, first: pb.UploadBlobRequest) -> Upload:
        is_known = await self._knows(first.sha256)
        return await self._store.begin(
            first.sha256, first.size_bytes, owner=str(caller()), prove=not is_known
        )

    async def _knows(self, sha256: str) -> bool:
        check_digests([sha256])
        return sha256 in await self._rights.known(caller(), [sha256])

    async def StatBlobs(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.StatBlobsRequest, context: Context
    ) -> pb.StatBlobsResponse:
        """Say what is there, and how far unfinished uploads of the caller are."""
        del context
        if len(request.sha256) > MAX_STATS:
            raise error(
                Reason.TOO_LARGE,
                f"sha256: {len(request.sha256)} digests; the limit is {MAX_STATS}.",
                remedy="Ask for fewer at once.",
            )
        digests, who = list(request.sha256), caller()
        check_digests(digests)
        known = await self._rights.known(who, digests)
        stats = await self._store.stat(digests, owner=str(who), known=known)
        return pb.StatBlobsResponse(
            blobs=[pb.BlobStat(sha256=s.sha256, exists=s.exists, size_bytes=s.size) for s in stats]
        )

    async def ReadBlob(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.ReadBlobRequest, context: Context
    ) -> AsyncIterator[pb.ReadBlobResponse]:
        """Stream a blob from an offset on."""
        del context
        if not await self._knows(request.sha256):
            raise no_blob(request.sha256)
        if self._missing is not None:
            (stat,) = await self._store.stat([request.sha256])
            if not stat.exists:
                await self._missing(request.sha256)
        offset = request.offset
        chunks = self._store.read(request.sha256, offset, request.limit)
        async for data in chunks:
            yield pb.ReadBlobResponse(data=data, offset=offset)
            offset += len(data)
