"""BlobService over one blob root: the same servicer in the federation and in each region.

Uploads of different identities are apart until they are finished; a finished blob is shared, since
whoever names a digest knew the bytes. A region may fetch what it lacks from the federation through
`missing`. Who may call is the authorization table's business.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

from intertie.api.federation.v1 import blob_service_pb2 as pb
from intertie.api.federation.v1 import blob_service_pb2_grpc as pb_grpc
from intertie.errors import Reason, error, invalid
from intertie.store.blobs import BlobStore, Upload
from intertie.transport.call import Context, caller

MAX_STATS = 1_000

Missing = Callable[[str], Awaitable[None]]
"""Brings a blob of this digest into the store, or raises why it cannot."""


class BlobServicer(pb_grpc.BlobServiceServicer):
    """See the module's text.

    Args:
        store: the blob root.
        missing: asked once for a blob that ReadBlob does not find; None = it stays missing.
    """

    def __init__(self, store: BlobStore, missing: Missing | None = None) -> None:
        self._store = store
        self._missing = missing

    async def UploadBlob(  # noqa: N802 - the name of the method in the protocol
        self, request_iterator: AsyncIterator[pb.UploadBlobRequest], context: Context
    ) -> pb.UploadBlobResponse:
        """Take the chunks of one blob; what has come stays if the stream breaks."""
        del context
        upload: Upload | None = None
        async for chunk in request_iterator:
            if upload is None:
                upload = await self._store.begin(
                    chunk.sha256, chunk.size_bytes, owner=str(caller())
                )
                if upload.offset == upload.size and chunk.offset < upload.size:
                    break  # it is there already, or all of its bytes are
            if chunk.data:
                await upload.append(chunk.offset, chunk.data)
        if upload is None:
            raise invalid("sha256", "the first chunk must name the blob; none came")
        await upload.finish()
        return pb.UploadBlobResponse(sha256=upload.sha256, size_bytes=upload.size)

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
        stats = await self._store.stat(list(request.sha256), owner=str(caller()))
        return pb.StatBlobsResponse(
            blobs=[pb.BlobStat(sha256=s.sha256, exists=s.exists, size_bytes=s.size) for s in stats]
        )

    async def ReadBlob(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.ReadBlobRequest, context: Context
    ) -> AsyncIterator[pb.ReadBlobResponse]:
        """Stream a blob from an offset on."""
        del context
        if self._missing is not None:
            (stat,) = await self._store.stat([request.sha256])
            if not stat.exists:
                await self._missing(request.sha256)
        offset = request.offset
        chunks = self._store.read(request.sha256, offset, request.limit)
        async for data in chunks:
            yield pb.ReadBlobResponse(data=data, offset=offset)
            offset += len(data)
