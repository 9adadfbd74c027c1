"""The client of a region's operator for node tokens."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

from intertie.api.regional.v1 import enrollment_service_pb2 as pb
from intertie.api.regional.v1.enrollment_service_pb2_grpc import EnrollmentServiceStub
from intertie.clock import SystemIds
from intertie.ports import IdSource
from intertie.sdk.connection import Connection, Endpoint, OnRetry, Patience
from intertie.sdk.contexts import load_contexts
from intertie.sdk.membership.values import CREDENTIALS, TOKEN, Credentials, JoinToken
from intertie.wire.scalars import fill_duration

PAGE = 200


class OperatorClient:
    """See the module's text. For one event loop.

    Args:
        endpoint: where the region is and which operator we are.
        ids: makes request_ids.
        patience: deadlines and how long to retry.
        on_retry: told why a call is tried again.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        ids: IdSource | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        on_retry: OnRetry | None = None,
    ) -> None:
        self._connection = Connection(endpoint, patience=patience, on_retry=on_retry)
        self._ids = ids or SystemIds()

    @classmethod
    def from_context(cls, name: str = "", *, on_retry: OnRetry | None = None) -> Self:
        """A client of the region that a context names."""
        return cls(load_contexts().get(name).pool(), on_retry=on_retry)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; idempotent."""
        await self._connection.close()

    async def create_node_token(
        self,
        *,
        max_uses: int = 1,
        networks: Sequence[str] = (),
        ttl_ms: int = 0,
        node: str = "",
    ) -> JoinToken:
        """Make a token by which nodes join; the answer alone holds its secret."""
        request = pb.CreateNodeTokenRequest(
            max_uses=max_uses, networks=networks, node=node, request_id=self._ids.uuid7()
        )
        if ttl_ms:
            fill_duration(ttl_ms, request.ttl)
        return TOKEN.from_pb(await self._unary("CreateNodeToken", request))

    async def list_node_tokens(self) -> AsyncIterator[JoinToken]:
        """Tokens that are remembered, the newest first."""
        request = pb.ListNodeTokensRequest(page_size=PAGE)
        pages = self._connection.pages(EnrollmentServiceStub, "ListNodeTokens", request)
        async for page in pages:
            for token in page.tokens:
                yield TOKEN.from_pb(token)

    async def revoke_node_token(self, id_: str, reason: str) -> JoinToken:
        """Take a token back."""
        request = pb.RevokeNodeTokenRequest(
            name=f"joinTokens/{id_}", reason=reason, request_id=self._ids.uuid7()
        )
        return TOKEN.from_pb(await self._unary("RevokeNodeToken", request))

    async def renew(self, csr_pem: bytes) -> Credentials:
        """The operator's next certificate."""
        return CREDENTIALS.from_pb(await self._unary("Renew", pb.RenewRequest(csr_pem=csr_pem)))

    async def _unary(self, method: str, request: object) -> Any:  # noqa: ANN401 - its answer
        return await self._connection.unary(EnrollmentServiceStub, method, request)
