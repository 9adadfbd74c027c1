"""The keeper's Unix socket: connections, frames in, frames out. Knows nothing of runs.

Only our own user and root may speak, and no process that the keeper itself has above it: a task
must not order the keeper about, not even one that runs as the keeper's user. Output is bounded; a
peer that does not read is cut off and comes back for a `list`.
"""

import os
import selectors
import socket
import struct
from collections.abc import Callable
from typing import Final

from edge_agent.keeper import protocol
from edge_agent.keeper.machine import procfs
from edge_agent.keeper.protocol import Body, Framer, ProtocolFault

MAX_CONNECTIONS: Final = 8
MAX_UNSENT_BYTES: Final = 2 * protocol.MAX_MESSAGE_BYTES
_READ_BYTES: Final = 1 << 16
_SEND_AT_BYTES: Final = 1 << 18
"""Above this a turn does not wait for its end."""


class Connection:
    """One peer."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.framer = Framer()
        self.unsent = bytearray()
        self.greeted = False
        self.closing = False


class Server:
    """Accepts links and passes their requests to `handler(tag, op, body)`."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        path: str,
        handler: Callable[[int, str, Body], None],
    ) -> None:
        self._selector = selector
        self._handler = handler
        self._connections: set[Connection] = set()
        self._waiting: dict[int, tuple[Connection, int]] = {}
        self._tags = 0
        self._unflushed: set[Connection] = set()
        self.path = path
        self._listener = _listen(path)
        selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        """Send what is left to send, close everything, remove the socket."""
        for connection in list(self._connections):
            self._flush(connection)
            self._close(connection)
        self._selector.unregister(self._listener)
        self._listener.close()
        os.unlink(self.path)

    def answer(self, tag: int, result: Body) -> None:
        """Reply to a request; the peer may be gone."""
        self._respond(tag, lambda number: protocol.reply(number, result))

    def refuse(self, tag: int, fault: ProtocolFault) -> None:
        """Refuse a request."""
        self._respond(tag, lambda number: protocol.refusal(number, fault))

    def _respond(self, tag: int, frame: Callable[[int], bytes]) -> None:
        connection, number = self._waiting.pop(tag)
        if connection in self._connections:
            self._send(connection, frame(number))

    def broadcast(self, note: str, run: Body) -> None:
        """Notify every peer that has said hello."""
        frame = protocol.notification(note, run)
        for connection in [each for each in self._connections if each.greeted]:
            self._send(connection, frame)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        if len(self._connections) >= MAX_CONNECTIONS or not _may_speak(sock):
            sock.close()
            return
        sock.setblocking(False)
        connection = Connection(sock)
        self._connections.add(connection)
        self._selector.register(sock, selectors.EVENT_READ, lambda: self._ready(connection))

    def _ready(self, connection: Connection) -> None:
        self._flush(connection)
        if connection not in self._connections or connection.closing:
            return
        try:
            data = connection.sock.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(connection)
            return
        try:
            for line in connection.framer.feed(data):
                self._request(connection, line)
        except ProtocolFault as fault:
            self._send(connection, protocol.refusal(0, fault))
            connection.closing = True

    def _request(self, connection: Connection, line: bytes) -> None:
        body = protocol.decode(line)
        number = body.get("id")
        if type(number) is not int:
            raise ProtocolFault(protocol.MALFORMED, "give a whole number", "id")
        self._tags += 1
        self._waiting[self._tags] = (connection, number)
        try:
            op = body.get("op")
            if op not in protocol.OPS:
                known = ", ".join(protocol.OPS)
                raise ProtocolFault(protocol.UNKNOWN_OP, f"there are {known}", "op")
            if not connection.greeted and op != "hello":
                raise ProtocolFault(protocol.HELLO_FIRST, "say hello first", "op")
            if op == "hello":
                protocol.agree_version(body.get("versions"))
                connection.greeted = True
            self._handler(self._tags, op, body)
        except ProtocolFault as fault:
            self.refuse(self._tags, fault)

    def _send(self, connection: Connection, frame: bytes) -> None:
        connection.unsent += frame
        self._unflushed.add(connection)
        if len(connection.unsent) > _SEND_AT_BYTES:
            self._flush(connection)

    def flush(self) -> None:
        """Send what was answered and told: once a turn, many frames by one call."""
        for connection in self._unflushed & self._connections:
            self._flush(connection)
        self._unflushed.clear()

    def _flush(self, connection: Connection) -> None:
        try:
            while connection.unsent:
                sent = connection.sock.send(connection.unsent)
                del connection.unsent[:sent]
        except BlockingIOError:
            if len(connection.unsent) > MAX_UNSENT_BYTES:
                self._close(connection)
                return
        except OSError:
            self._close(connection)
            return
        if connection.closing and not connection.unsent:
            self._close(connection)
        elif connection in self._connections:
            self._want_writes(connection, bool(connection.unsent))

    def _want_writes(self, connection: Connection, wanted: bool) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
        key = self._selector.get_key(connection.sock)
        if key.events != events:
            self._selector.modify(connection.sock, events, key.data)

    def _close(self, connection: Connection) -> None:
        if connection in self._connections:
            self._connections.discard(connection)
            self._selector.unregister(connection.sock)
            connection.sock.close()


def _listen(path: str) -> socket.socket:
    """Bind, 0600. A stale socket of a dead keeper is replaced: the caller holds the lock."""
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    listener.listen(16)
    listener.setblocking(False)
    return listener


def _may_speak(sock: socket.socket) -> bool:
    size = struct.calcsize("3i")
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid, uid, _ = struct.unpack("3i", credentials)
    return uid in (0, os.geteuid()) and not procfs.descends_from(pid, os.getpid())
