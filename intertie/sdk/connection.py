"""Calls of one identity to one endpoint: deadlines, retries, and errors of the catalogue.

Only UNAVAILABLE is retried, with the very same request, so a mutation keeps its request_id. Must
not know what any method means.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import grpc.aio
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_delay,
    wait_random_exponential,
)

from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason, error
from intertie.pki.load import IdentityDirectory
from intertie.ports import Clock
from intertie.sdk.membership.renewing import OwnRenewal
from intertie.telemetry.registry import Metrics
from intertie.transport.channels import Channels
from intertie.transport.client import clock_metadata
from intertie.transport.failure import error_from_rpc, told_why

M = TypeVar("M")

MakeStub = Callable[..., Any]
OnRetry = Callable[[IntertieError], None]

_UNTRUSTED = ("CERTIFICATE_VERIFY_FAILED", "Hostname Verification")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a server is and who we are to it.

    Args:
        target: `host:port`.
        server_name: DNS name in the server's certificate, whatever is dialled.
        identity: directory with key.pem, cert.pem, chain.pem, trust.pem.
        trust_domain: the federation's trust domain.
    """

    target: str
    server_name: str
    identity: Path
    trust_domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait, in seconds.

    Args:
        call_s: one attempt of a unary call.
        retry_s: all attempts of one.
        stream_s: a stream that cannot be opened again.
    """

    call_s: float = 20.0
    retry_s: float = 10.0
    stream_s: float = 300.0


def is_unavailable(problem: BaseException) -> bool:
    """Whether the same call may work later; a server whose certificate does not hold never will."""
    return (
        isinstance(problem, IntertieError)
        and problem.entry.code == "UNAVAILABLE"
        and not any(words in problem.message for words in _UNTRUSTED)
    )


class Connection:
    """See the module's text. For one event loop; close it.

    Args:
        endpoint: where and who.
        clock: tells the server our time, and counts patience.
        patience: how long to wait.
        on_retry: told why a call is tried again.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Clock | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        on_retry: OnRetry | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.clock = clock or SystemClock()
        self.patience = patience
        self.identity = IdentityDirectory(endpoint.identity, endpoint.trust_domain)
        self._channels = Channels(self.identity, self.clock, Metrics())
        self._renewal = OwnRenewal(
            self.identity, self._channels, endpoint.target, endpoint.server_name, self.clock
        )
        self._looking = False
        self._on_retry = on_retry
        self._check_life()

    def _check_life(self) -> None:
        """Say that our certificate has ended, which TLS would only call a failed handshake."""
        own = self.identity.current.identity
        if own.not_after_ms < self.clock.now().utc_ms:
            raise error(
                Reason.CERTIFICATE_EXPIRED,
                f"The certificate in {self.endpoint.identity} has ended.",
                remedy="Join again with a new token (intertie join), or issue it again "
                "(intertie ca issue).",
            )

    async def unary(
        self, make: MakeStub, method: str, request: object, timeout_s: float | None = None
    ) -> Any:  # noqa: ANN401 - the response message of the method
        """Call a method, again after UNAVAILABLE; the caller knows what type the answer has."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(is_unavailable),
            wait=wait_random_exponential(_FIRST_PAUSE_S, _LONGEST_PAUSE_S),
            stop=stop_after_delay(self.patience.retry_s),
            before_sleep=self._told,
            reraise=True,
        )
        return await retrying(self._once, make, method, request, timeout_s)

    async def pages(
        self,
        make: MakeStub,
        method: str,
        request: Any,  # noqa: ANN401 - a List request with a page_token
    ) -> AsyncIterator[Any]:
        """The responses of a List method, page by page (AIP-158)."""
        while True:
            page = await self.unary(make, method, request)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def send(
        self, make: MakeStub, method: str, requests: AsyncIterator[object], timeout_s: float | None
    ) -> Any:  # noqa: ANN401 - the response message of the method
        """Stream requests to a method, once."""
        method_of = getattr(self._stub(make), method)
        call = method_of(requests, timeout=timeout_s, metadata=clock_metadata(self.clock))
        try:
            return await told_why(call)
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure

    async def stream(
        self, make: MakeStub, method: str, request: object
    ) -> AsyncGenerator[Any, None]:
        """Stream the responses of a method, once; closing the iterator cancels the call."""
        call = getattr(self._stub(make), method)(request, metadata=clock_metadata(self.clock))
        try:
            async for message in call:
                yield message
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure
        finally:
            call.cancel()

    async def resumed(
        self,
        reopen: Callable[[], AsyncGenerator[M, None]],
        *,
        endless: bool = False,
        patience_s: float | None = None,
    ) -> AsyncGenerator[M, None]:
        """What `reopen()` streams, opened again after UNAVAILABLE; `reopen` knows where to go on.

        Args:
            reopen: makes the stream from where the last message left off.
            endless: open it again also when it ends without an error.
            patience_s: how long it may stay broken; that of the connection if absent.
        """
        patience_ns = int((self.patience.stream_s if patience_s is None else patience_s) * 1e9)
        give_up_ns: int | None = None
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                async with aclosing(reopen()) as stream:
                    async for message in stream:
                        give_up_ns, pause_s = None, _FIRST_PAUSE_S
                        yield message
                if not endless:
                    return
            except IntertieError as problem:
                now_ns = self.clock.now().boot_ns
                give_up_ns = give_up_ns or now_ns + patience_ns
                if not is_unavailable(problem) or now_ns >= give_up_ns:
                    raise
                if self._on_retry is not None:
                    self._on_retry(problem)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def close(self) -> None:
        """End all calls and close the channels."""
        await self._renewal.close()
        await self._channels.close()

    async def _once(
        self, make: MakeStub, method: str, request: object, timeout_s: float | None
    ) -> Any:  # noqa: ANN401 - the response message of the method
        try:
            return await getattr(self._stub(make), method)(
                request, timeout=timeout_s or self.patience.call_s
            )
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure

    def _stub(self, make: MakeStub) -> Any:  # noqa: ANN401 - a generated stub
        if not self._looking:
            self._looking = True
            self._channels.start()
            self._renewal.start()
        return self._channels.stub(self.endpoint.target, self.endpoint.server_name, make)

    def _told(self, state: RetryCallState) -> None:
        problem = state.outcome.exception() if state.outcome is not None else None
        if self._on_retry is not None and isinstance(problem, IntertieError):
            self._on_retry(problem)
