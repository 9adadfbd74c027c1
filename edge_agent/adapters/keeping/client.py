"""One connection to the keeper: requests with replies, and notifications, over its Unix socket.

Nothing here retries: a connection that breaks fails all that wait, and its owner opens another.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from edge_agent.keeper import protocol
from edge_agent.keeper.protocol import Body, Framer, Hello, ProtocolFault
from edge_agent.keeper.report import RunView

Note = Callable[[str, RunView], None]


class TooLargeError(Exception):
    """A request that no keeper would take: it is not sent."""


class KeeperClient(asyncio.Protocol):
    """Use `connect`. `note` gets every notification, in order with the replies."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._framer = Framer(protocol.MAX_MESSAGE_BYTES)
        self._transport: asyncio.Transport | None = None
        self._waiting: dict[int, asyncio.Future[Body]] = {}
        self._number = 0
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def connect(cls, path: str, note: Note) -> tuple["KeeperClient", Hello]:
        """Connect and say hello.

        Raises:
            OSError: nobody listens.
            ProtocolFault: the keeper speaks another version.
        """
        loop = asyncio.get_running_loop()
        _, client = await loop.create_unix_connection(lambda: cls(note), path)
        versions = [protocol.VERSION_OLDEST, protocol.VERSION_NEWEST]
        try:
            return client, Hello.from_body(await client.ask("hello", versions=versions))
        except BaseException:
            client.close()
            raise

    async def ask(self, op: str, **fields: Any) -> Body:  # noqa: ANN401 - JSON values
        """One request.

        Raises:
            ProtocolFault: the keeper refuses.
            ConnectionError: the connection broke before the reply; the request may have been done.
            TooLargeError: the request does not fit into a frame.
        """
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("not connected to the keeper")
        self._number += 1
        frame = protocol.request(self._number, op, **fields)
        if len(frame) > protocol.MAX_REQUEST_BYTES:
            raise TooLargeError(f"{len(frame)} bytes")
        reply: asyncio.Future[Body] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = reply
        self._transport.write(frame)
        return await reply

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()

    # --- asyncio.Protocol ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        # uvloop's transports have the methods of asyncio.Transport without being one.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        try:
            for line in self._framer.feed(data):
                self._frame(protocol.decode(line))
        except (ProtocolFault, KeyError, TypeError, ValueError):
            self.close()  # not a keeper, or one that is broken: the owner starts over

    def connection_lost(self, _exc: Exception | None) -> None:
        """See asyncio."""
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(ConnectionResetError("the keeper closed the connection"))
        self._waiting.clear()
        if not self.closed.done():
            self.closed.set_result(None)

    def _frame(self, body: Body) -> None:
        if "note" in body:
            self._note(str(body["note"]), RunView.from_body(body["run"]))
            return
        reply = self._waiting.pop(int(body["id"]), None)
        if reply is None or reply.done():
            return
        if body["ok"]:
            reply.set_result(body["result"])
        else:
            reply.set_exception(ProtocolFault.from_body(body["error"]))
