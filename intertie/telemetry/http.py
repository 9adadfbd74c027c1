"""Serves /metrics and /healthz over HTTP/1.1 on a private port, from the process's event loop.

Small on purpose: GET only, one request a connection, a bound on size and time. Must not be exposed
beyond the host or the cluster: it asks for no identity.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from intertie.errors import Reason, error

MAX_HEAD_BYTES = 8 * 1024
READ_TIMEOUT_S = 5.0


class TelemetryServer:
    """One listening socket.

    Args:
        registry: what /metrics shows.
        healthy: asked by each /healthz; False answers 503.
    """

    def __init__(self, registry: CollectorRegistry, healthy: Callable[[], bool]) -> None:
        self._registry = registry
        self._healthy = healthy
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> int:
        """Listen and return the port; 0 lets the kernel choose.

        Raises:
            IntertieError: PORT_IN_USE.
        """
        try:
            self._server = await asyncio.start_server(self._serve, host, port, limit=MAX_HEAD_BYTES)
        except OSError as problem:
            raise error(
                Reason.PORT_IN_USE,
                f"Cannot listen on {host}:{port} for metrics: {problem.strerror}.",
                remedy="Set another metrics port, or 0 to let the system choose.",
            ) from problem
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, TimeoutError):
            try:
                writer.write(await self._answer(reader))
                await asyncio.wait_for(writer.drain(), READ_TIMEOUT_S)
            finally:
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), READ_TIMEOUT_S)
        except asyncio.LimitOverrunError:
            return _response("431 Request Header Fields Too Large", b"too large\n")
        except asyncio.IncompleteReadError:
            return _response("400 Bad Request", b"not an HTTP request\n")
        method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method != b"GET":
            return _response("405 Method Not Allowed", b"only GET\n")
        if path == b"/metrics":
            return _response("200 OK", generate_latest(self._registry), CONTENT_TYPE_LATEST)
        if path == b"/healthz":
            if self._healthy():
                return _response("200 OK", b"ok\n")
            return _response("503 Service Unavailable", b"not serving\n")
        return _response("404 Not Found", b"try /metrics or /healthz\n")


def _response(status: str, body: bytes, content_type: str = "text/plain; charset=utf-8") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
